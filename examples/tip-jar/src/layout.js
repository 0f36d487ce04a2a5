import { html } from './html.js';

/** The frame of every page. `watch`: an address that answers `{ state }`; the page loads anew when it changes. */
export function layout({ t, language, url }, { title, body, watch = null, state = null, refresh = false }) {
  const here = url.pathname.replace(/^\/jar\/.*/, '/jar'); // a form's own address has no page
  const other = language === 'th' ? 'en' : 'th';
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${t.appName}</title>
<link rel="stylesheet" href="/style.css">
<link rel="icon" href="/icon.svg" type="image/svg+xml">
${refresh && html`<noscript><meta http-equiv="refresh" content="15"></noscript>`}
${watch && html`<script src="/live.js" defer></script>`}
</head>
<body${watch && html` data-watch="${watch}" data-state="${state}"`}>
<header><a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">${t.appName}</a>
<a href="${here}?lang=${other}" lang="${other}" hreflang="${other}">${t.otherLanguage}</a></header>
<main>${body}</main>
</body>
</html>
`;
}
