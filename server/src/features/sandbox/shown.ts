import type { ErrorDetail } from '../../platform/http/http-error.ts';
import type { TypedEvent } from './console/views.ts';
import type { Choices, ShownTokens, TypedName } from './views.ts';

/** A request that was not sent: as typed, or as JSON. */
export interface ShownConsole {
  readonly typed?: TypedEvent;
  readonly json?: string;
  readonly wrong: readonly ErrorDetail[];
}

/** What the page of a sandbox creator shows in answer to a form. */
export interface Shown {
  readonly status?: number;
  readonly tokens?: ShownTokens;
  readonly address?: string;
  readonly choices?: Choices;
  readonly typed?: TypedName;
  readonly console?: ShownConsole;
}
