import { displayName, displayText } from '../../../platform/web/browser/text.ts';
import type { WidgetData } from '../widgets.ts';

const baht = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const wholeBaht = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Satang are left out where there are none: a bar has little room. */
const money = (satang: number): string =>
  `฿${satang % 100 === 0 ? wholeBaht.format(satang / 100) : baht.format(satang / 100)}`;

/** Replaces what the page shows. Texts are never interpreted as HTML. */
export function drawWidget(data: WidgetData, heading: string): void {
  const drawn = draw(data, heading);
  // What has not changed stays: nothing flickers on the stream.
  if (drawn?.outerHTML === document.body.firstElementChild?.outerHTML) return;
  document.body.replaceChildren(...(drawn ? [drawn] : []));
}

function draw(data: WidgetData, heading: string): HTMLElement | undefined {
  switch (data.widget) {
    case 'goal':
      return data.goal ? goalBar(data.goal) : undefined;
    case 'latest':
      return list(
        heading,
        data.tips.map(({ name, amountMinor, message }) => [name, money(amountMinor), message ?? '']),
      );
    case 'top':
      return list(
        heading,
        data.supporters.map(({ name, totalMinor }) => [name, money(totalMinor), '']),
        'ol',
      );
    case 'total': {
      const box = element('main', 'widget total');
      box.append(element('h1', 'label', heading), element('strong', 'amount', money(data.totalMinor)));
      return box;
    }
  }
}

function goalBar({ title, raisedMinor, targetMinor, reached }: NonNullable<(WidgetData & { widget: 'goal' })['goal']>) {
  const box = element('main', reached ? 'widget goal reached' : 'widget goal');
  const bar = element('progress', 'bar');
  bar.setAttribute('max', String(targetMinor));
  bar.setAttribute('value', String(Math.max(0, Math.min(raisedMinor, targetMinor))));
  bar.setAttribute('aria-label', displayName(title));
  const amounts = element('p', 'amounts');
  amounts.append(
    element('strong', 'amount', money(raisedMinor)),
    element('span', 'of', `/ ${money(targetMinor)}`),
    element('span', 'percent', `${Math.floor((raisedMinor * 100) / targetMinor)}%`),
  );
  box.append(element('h1', 'label', displayName(title)), bar, amounts);
  return box;
}

type Row = readonly [name: string, amount: string, message: string];

/** Nothing at all as long as the list is empty. */
function list(heading: string, rows: readonly Row[], tag: 'ul' | 'ol' = 'ul'): HTMLElement | undefined {
  if (rows.length === 0) return undefined;
  const box = element('main', 'widget list');
  const items = element(tag, 'rows');
  for (const [name, amount, message] of rows) {
    const item = element('li', 'row');
    item.append(element('bdi', 'name', displayName(name)), element('strong', 'amount', amount));
    const words = displayText(message, { breaks: 0, length: 120 });
    if (words !== '') item.append(element('p', 'message', words));
    items.append(item);
  }
  box.append(element('h1', 'label', heading), items);
  return box;
}

function element(tag: string, className: string, text = ''): HTMLElement {
  const created = document.createElement(tag);
  created.className = className;
  created.textContent = text;
  return created;
}
