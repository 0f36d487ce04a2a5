/** Stops a page and sends the reader to another one. */
export class Redirect extends Error {
  readonly location: string;
  constructor(location: string) {
    super('redirect');
    this.location = location;
  }
}

/** Stops a page with an error page. `detail` is a sentence for the reader, in their language. */
export class PageError extends Error {
  readonly status: number;
  readonly detail: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, options: { detail?: string; headers?: Record<string, string> } = {}) {
    super(`page error ${status}`);
    this.status = status;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
  }
}
