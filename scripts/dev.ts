/**
 * Preloaded by `npm run dev`. In watch mode Node.js has each thread report its imports to the thread that started it,
 * as messages among those of the SQLite thread. `--watch-path` needs no reports.
 */
delete process.env.WATCH_REPORT_DEPENDENCIES;
