/** The move cannot begin, or its result would not be the same. Nothing was changed. */
export class MoveError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
