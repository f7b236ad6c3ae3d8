/** What happens to a row, as pages and forms say it. */
export const HAPPENS: Readonly<Record<string, string>> = {
  insert: 'added',
  update: 'changed',
  delete: 'deleted',
  upload: 'given a file',
};
