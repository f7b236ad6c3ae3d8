// The default theme with the reader's own fonts: its own come from another host.
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

export default DefaultTheme;
