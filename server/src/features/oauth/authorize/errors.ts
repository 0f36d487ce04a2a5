/** Nothing may be redirected: the person is told on a page of ours what the app got wrong. */
export class Unredirectable extends Error {
  readonly parameter: 'client_id' | 'redirect_uri';
  constructor(parameter: Unredirectable['parameter']) {
    super(`This ${parameter} is not acceptable.`);
    this.parameter = parameter;
  }
}

/** Where an answer goes, and what the app recognizes it by. */
export interface Back {
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** An answer of RFC 6749, section 4.1.2.1, which allows no quotation mark or backslash in a description. */
export class AuthorizeError extends Error {
  readonly error:
    | 'invalid_request'
    | 'unauthorized_client'
    | 'access_denied'
    | 'unsupported_response_type'
    | 'invalid_scope';
  /** Known once the redirect URI is. */
  readonly back: Back | undefined;
  constructor(error: AuthorizeError['error'], description: string, back?: Back) {
    super(description);
    this.error = error;
    this.back = back;
  }

  to(back: Back): AuthorizeError {
    return new AuthorizeError(this.error, this.message, back);
  }
}
