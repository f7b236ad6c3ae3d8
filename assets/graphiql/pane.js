import { firstQuery } from './firstQuery.js';
import { send } from './send.js';
import { storageFor } from './storage.js';

const { createElement } = window.React;
const { GraphiQL } = window;
// GraphiQL's dialogs add style elements, which the page's policy lets pass with this word only.
window.__webpack_nonce__ = document.querySelector('script[nonce]').nonce;
const WELCOME = '# Sign in, and a first query appears here.\n';

/**
 * GraphiQL on one endpoint.
 *
 * @param query what the editor begins with; else what it was left with
 * @param onResponse told of every response that is no schema
 */
export function createPane(container, endpoint, { query, onResponse }) {
  const root = window.ReactDOM.createRoot(container);
  const storage = storageFor(endpoint);
  let sessions = 0;
  return {
    /** Leaves what an earlier session asked for. The schema is asked for when there is a token to ask with. */
    begin(token) {
      sessions += 1;
      const session = sessions;
      const render = (queries) => {
        if (session === sessions) root.render(createElement(GraphiQL, { ...fixed, ...queries }));
      };
      const fixed = {
        key: session,
        storage,
        // The token is the bar's, and is kept nowhere else.
        isHeadersEditorEnabled: false,
        showPersistHeadersSettings: false,
        // null is GraphiQL's word for doing without a schema; it asks for one when there is none.
        schema: token === '' ? null : undefined,
        fetcher: async (params) => {
          const response = await send(endpoint, params, token);
          const isSchema = params.operationName === 'IntrospectionQuery';
          if (session === sessions && !(isSchema && response.isOk)) onResponse(response);
          return response.body;
        },
        onSchemaChange: (schema) => {
          const defaultQuery = firstQuery(schema);
          render({ defaultQuery, query: isUnwritten(container) ? defaultQuery : undefined });
        },
      };
      render({ defaultQuery: WELCOME, query });
      query = undefined;
    },
  };
}

/** Whether nobody wrote anything yet in the tab that is shown. What can't be told yet might be written. */
function isUnwritten(container) {
  const editor = container.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror;
  return editor !== undefined && ['', WELCOME.trim()].includes(editor.getValue().trim());
}
