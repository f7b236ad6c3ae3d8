const TOKEN = 'token';
const LOGIN = 'login';

/** The token that requests are sent with. It lives as long as the tab. */
export const session = {
  get token() {
    return sessionStorage.getItem(TOKEN) ?? '';
  },

  /** @param login whom it was given to; unknown for one that was pasted */
  begin(token, login = '') {
    sessionStorage.setItem(TOKEN, token);
    sessionStorage.setItem(LOGIN, login);
  },

  end() {
    sessionStorage.removeItem(TOKEN);
    sessionStorage.removeItem(LOGIN);
  },

  /** Whom the token is for, as far as it says; empty without one. */
  get who() {
    const { token } = this;
    if (token === '') return '';
    const { roleid, tenantid } = claimsOf(token);
    const login = sessionStorage.getItem(LOGIN);
    const name = login ? login : roleid === undefined ? 'Unknown role' : `Role ${roleid}`;
    return tenantid === undefined ? name : `${name} of tenant ${tenantid}`;
  },
};

function claimsOf(token) {
  try {
    const [, payload = ''] = token.split('.');
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return {};
  }
}
