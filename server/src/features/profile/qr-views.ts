import { type Html, html } from '../../platform/web/html.ts';
import { qrModules } from './qr.ts';

/** White around the code, in modules, as the standard asks for (ISO/IEC 18004). */
const quiet = 4;

/** A picture of the code, dark on white whatever the page's colours: cameras need it so. */
export async function qrPicture(text: string, title: string): Promise<Html> {
  const rows = await qrModules(text);
  const edge = rows.length + 2 * quiet;
  const dark = rows.flatMap((row, y) => row.flatMap((on, x) => (on ? `M${x + quiet} ${y + quiet}h1v1h-1z` : [])));
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${edge} ${edge}" shape-rendering="crispEdges" role="img"><title>${title}</title><path fill="#ffffff" d="M0 0h${edge}v${edge}H0z"/><path fill="#000000" d="${dark.join('')}"/></svg>`;
}
