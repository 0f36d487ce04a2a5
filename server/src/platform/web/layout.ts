import type { Assets } from './assets.ts';
import { notice, type Tone, writtenName } from './blocks.ts';
import { displayName, displayText, graphemes } from './browser/text.ts';
import { form } from './forms.ts';
import { attributes, type Html, html } from './html.ts';
import { type Lang, languageLink, messages } from './i18n.ts';

const words = messages({
  en: {
    skip: 'Skip to content',
    home: 'Home',
    navigation: 'Main',
    menu: 'Menu',
    docs: 'Docs',
    account: 'Account and security',
    signIn: 'Sign in',
    signOut: 'Sign out',
    motto: 'Open tipping for creators',
  },
  th: {
    skip: 'ข้ามไปยังเนื้อหา',
    home: 'หน้าแรก',
    navigation: 'เมนูหลัก',
    menu: 'เมนู',
    docs: 'เอกสาร',
    account: 'บัญชีและความปลอดภัย',
    signIn: 'เข้าสู่ระบบ',
    signOut: 'ออกจากระบบ',
    motto: 'ระบบรับทิปแบบเปิดสำหรับครีเอเตอร์',
  },
});

/** The sections of the site for people who are signed in, in order: each with its address and its names. */
export type Navigation = Readonly<Record<string, { readonly href: string } & Readonly<Record<Lang, string>>>>;

/** `app.ts`, which holds the navigation, adds its keys to this interface, so that a page cannot name another section. */
// biome-ignore lint/suspicious/noEmptyInterface: app.ts merges another declaration into this one
export interface Sections {}

export interface PageOptions {
  lang: Lang;
  /** The request's own address, so that switching the language comes back to it; none where that would lose what is shown. */
  url: string | undefined;
  title: string;
  body: Html;
  /** The section that is open. */
  nav?: keyof Sections;
  /** Who is signed in; `csrf` is this session's token, for signing out. */
  user?: { displayName: string; csrf: string } | undefined;
  flash?: { tone: Tone; text: string } | undefined;
  /** `narrow` is one card in the middle: sign-in, consent, errors. */
  width?: 'normal' | 'wide' | 'narrow';
  /** Addresses of browser modules. */
  modules?: string[];
  head?: Html;
}

export type Page = (options: PageOptions) => Html;

export function createPage(assets: Assets, sections: Navigation): Page {
  const own = (path: string) => assets.add(new URL(path, import.meta.url));
  const fonts = own('./fonts.css');
  const style = own('./style.css');
  const logo = own('./logo.svg');
  const enhance = own('./browser/enhance.ts');

  return (o) => {
    const t = words(o.lang);
    const width = o.width ?? 'normal';
    return html`<!doctype html>
<html lang="${o.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${displayText(o.title)} · Namjai</title>
<link rel="stylesheet" href="${fonts()}">
<link rel="stylesheet" href="${style()}">
<link rel="icon" type="image/svg+xml" href="${logo()}">
!${[enhance(), ...(o.modules ?? [])].map((src) => html`<script type="module" src="${src}"></script>`)}
!${o.head ?? ''}
</head>
<body class="${width}">
<a class="skip" href="#content">${t('skip')}</a>
<header class="top">
  <div class="bar">
    <a class="brand" href="/"><img src="${logo()}" alt="" width="28" height="28"><span>Namjai</span> <span lang="th">น้ำใจ</span> <span class="visually-hidden">${t('home')}</span></a>
    <div class="tools">!${o.url === undefined ? '' : languageSwitch(o.lang, o.url)}!${o.user ? userMenu(o.user, t) : width === 'narrow' ? '' : html`<a class="button plain" href="/login">${t('signIn')}</a>`}</div>
  </div>
  !${o.user && width !== 'narrow' ? navigation(sections, o, t) : ''}
</header>
<main id="content" tabindex="-1">
!${o.flash ? notice(o.flash.tone, o.flash.text) : ''}
!${o.body}
</main>
<footer class="bottom"><p>Namjai <span lang="th">น้ำใจ</span> · ${t('motto')}</p><p><a href="/docs">${t('docs')}</a></p></footer>
</body>
</html>
`;
  };
}

type T = ReturnType<typeof words>;

function navigation(sections: Navigation, { nav, lang }: PageOptions, t: T): Html {
  const links = Object.entries(sections).map(([key, { href, [lang]: name }]) => {
    const current = key === nav ? 'page' : undefined;
    return html`<li><a!${attributes({ href, 'aria-current': current })}>${name}</a></li>`;
  });
  const open = nav === undefined ? undefined : sections[nav];
  // On a phone the sections are folded away, so that none of them is out of sight at the edge.
  return html`
<nav class="sections" aria-label="${t('navigation')}">
  <ul class="wide-only">!${links}</ul>
  <details class="phone-only"><summary><span>${t('menu')}</span>!${open ? html`<strong>${open[lang]}</strong>` : ''}</summary><ul>!${links}</ul></details>
</nav>`;
}

function languageSwitch(lang: Lang, url: string): Html {
  const [other, name] = lang === 'en' ? (['th', 'ไทย'] as const) : (['en', 'English'] as const);
  const href = languageLink(url, other);
  return html`<a class="language" lang="${other}" hreflang="${other}" rel="nofollow" href="${href}">${name}</a>`;
}

/** The first letter as a reader sees it, with its marks. */
export function initialOf(name: string): string {
  const [first] = graphemes(displayName(name));
  return first?.segment.toUpperCase() ?? '';
}

function userMenu(user: { displayName: string; csrf: string }, t: T): Html {
  const initial = initialOf(user.displayName);
  const signOut = html`<button class="item" type="submit">${t('signOut')}</button>`;
  return html`
<details class="menu">
  <summary><span class="avatar" aria-hidden="true">${initial}</span><span class="name">!${writtenName(user.displayName)}</span></summary>
  <div class="menu-body"><a class="item" href="/account">${t('account')}</a>!${form({ action: '/logout', csrf: user.csrf, body: signOut })}</div>
</details>`;
}
