/** Markup in which every inserted text is escaped, unless it is markup itself. */
class Markup {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function html(strings, ...values) {
  return new Markup(String.raw({ raw: strings }, ...values.map(insert)));
}

function insert(value) {
  if (value === null || value === undefined || value === false) return '';
  if (Array.isArray(value)) return value.map(insert).join('');
  return value instanceof Markup ? value.text : String(value).replace(/[&<>"']/g, (character) => entities[character]);
}
