/** For who is lent a connection. */
export { copyIn } from '../wire/index.js';
