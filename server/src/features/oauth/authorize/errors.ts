/** The request must not be redirected. A page of ours shows the app's mistake to the person. */
export class Unredirectable extends Error {
  readonly parameter: 'client_id' | 'redirect_uri';
  constructor(parameter: Unredirectable['parameter']) {
    super(`This ${parameter} is not acceptable.`);
    this.parameter = parameter;
  }
}

/** Where a response goes. */
export interface ResponseTarget {
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** RFC 6749, section 4.1.2.1. A description must not contain a quotation mark or a backslash. */
export class AuthorizeError extends Error {
  readonly error:
    | 'invalid_request'
    | 'unauthorized_client'
    | 'access_denied'
    | 'unsupported_response_type'
    | 'invalid_scope';
  /** Set once the redirect URI is verified. */
  readonly target: ResponseTarget | undefined;
  constructor(error: AuthorizeError['error'], description: string, target?: ResponseTarget) {
    super(description);
    this.error = error;
    this.target = target;
  }

  withTarget(target: ResponseTarget): AuthorizeError {
    return new AuthorizeError(this.error, this.message, target);
  }
}
