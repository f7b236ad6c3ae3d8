// A few seconds of `npm run fuzz -- filters`.
import '../../fuzz/filters.js';
