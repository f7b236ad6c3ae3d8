/** What is a choice of how things look, and the same on both endpoints. */
const SHARED = ['graphiql:theme', 'graphiql:editorFlex', 'graphiql:docExplorerFlex', 'graphiql:secondaryEditorFlex'];

/** A part of the browser's storage, so that the tabs and the history of one endpoint are not shown at the other. */
export function storageFor(endpoint) {
  const keyOf = (name) => (SHARED.includes(name) ? name : `${endpoint} ${name}`);
  const ownKeys = () =>
    Object.keys(localStorage).filter((key) => key.startsWith(`${endpoint} `) || SHARED.includes(key));
  return {
    getItem: (name) => localStorage.getItem(keyOf(name)),
    setItem: (name, value) => localStorage.setItem(keyOf(name), value),
    removeItem: (name) => localStorage.removeItem(keyOf(name)),
    get length() {
      return ownKeys().length;
    },
    clear: () => ownKeys().forEach((key) => localStorage.removeItem(key)),
  };
}
