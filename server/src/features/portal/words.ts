import { type Lang, messages } from '../../platform/web/i18n.ts';
import { type DetailProblem, longestDescription, mostApps, mostRedirectUris } from '../apps/index.ts';

export const words = messages({
  en: {
    title: 'Your apps',
    intro: 'An app acts for creators who connect it: it reads their tips, records tips and shows alerts.',
    register: 'Register an app',
    sandbox: 'Sandbox creators',
    emptyTitle: 'You have no app yet',
    emptyText:
      'Register one to get a client ID and a secret. Then send creators to the consent page with a link like this:',
    suspended: 'Suspended',
    suspendedText: 'The operator has suspended this app. Its tokens do not work until it is restored.',
    registerIntro: 'Creators see the name when they connect the app. What you type here can be changed later.',
    name: 'Name',
    description: 'Description',
    descriptionHint:
      'What it does for creators, in a few words. Shown when they connect it. At most {most} characters.',
    homepage: 'Homepage',
    privacy: 'Privacy page',
    linkHint: 'Begins with https://. Shown when creators connect the app. May be empty.',
    logo: 'Logo',
    logoIntro: 'Shown beside the name when creators connect the app.',
    logoFile: 'Picture',
    logoHint: 'PNG, JPEG or WebP, at most 2 MB. It is made smaller, and nothing but its pixels is kept.',
    logoUpload: 'Upload',
    logoRemove: 'Remove the logo',
    logoUploaded: 'The logo is uploaded.',
    logoRemoved: 'The logo is removed.',
    logoNone: 'Choose a picture first.',
    logoLarge: 'The picture is larger than 2 MB.',
    logoKind: 'This is no PNG, JPEG or WebP picture, or it is broken.',
    logoPixels: 'The picture has more than 40 megapixels, or an edge of more than 16,384.',
    redirectUris: 'Redirect URIs',
    redirectHint:
      'One on each line. After consent the browser returns to one of them, compared character by character. They begin with https://.',
    redirectHintDevelopment:
      'One on each line. After consent the browser returns to one of them, compared character by character. They begin with https://; while this server runs in development also http://localhost:PORT or http://127.0.0.1:PORT.',
    tooMany: 'An account has at most {most} apps. Delete one that is no longer used.',
    public: 'Public',
    publicApp: 'It runs on people’s own machines',
    publicAppHint:
      'A desktop program, a game mod or a stream deck can keep no secret. It gets none, proves itself by PKCE or connects by a code that the creator types, and needs no redirect URI for that. This cannot be changed later.',
    publicHint: 'A public app has no secret: whoever has the program could read it. It sends its client ID alone.',
    nextPublic:
      'Your program asks for a code, shows it and the address to the creator, and then asks for the tokens until the creator has approved:',
    devicesGuide: 'Read the guide',
    back: 'Your apps',
    credentials: 'Credentials',
    clientId: 'Client ID',
    clientSecret: 'Client secret',
    copy: 'Copy',
    copied: 'Copied',
    secretShown: 'Copy the secret now and keep it on your server. It is not shown again.',
    secretHint: 'The secret was shown once, when it was made. If it is lost or leaked, make a new one.',
    oldSecret: 'The secret before this one works until',
    newSecret: 'Make a new secret',
    newSecretMeans:
      'The secret used now works for another 24 hours, so that there is time to replace it. A secret before that one stops at once.',
    newSecretNow: 'Make the new secret',
    newSecretDone: 'The new secret is made.',
    newSecretOutdated: 'Another secret was made since this page was opened. Nothing was changed.',
    details: 'Details',
    save: 'Save',
    saved: 'Saved.',
    registered: '{app} is registered.',
    appExists:
      'The form was sent twice, and one app was registered. Its secret was shown only the first time: if you missed it, make a new one.',
    next: 'Connect a creator',
    nextIntro: 'Send the creator’s browser to this address, with a random state for each request:',
    tryIt: 'Open the consent page',
    exchange: 'The browser comes back with code and state. Within five minutes your server exchanges the code:',
    remove: 'Delete this app',
    removeOpen: 'Delete…',
    removeMeans:
      'All creators are disconnected at once and its tokens stop working. Tips that it recorded keep its name. This cannot be undone.',
    removeNow: 'Delete {app}',
    removed: '{app} is deleted.',
    nameLength: 'Give it a name of 1 to 60 characters that can be seen.',
    nameCharacters: 'The name must not contain invisible, control or text-direction characters.',
    nameReserved: 'This name reads as if the app belonged to Namjai or to whoever runs this server. Choose another.',
    descriptionLength: 'Write at most {most} characters.',
    descriptionCharacters: 'The description must not contain invisible, control or text-direction characters.',
    linkNotHttps: 'Give a whole address that begins with https://.',
    uriNone: 'Give at least one redirect URI.',
    uriTooMany: 'Give at most {most} redirect URIs.',
    not_absolute: '{uri} is not an absolute address, such as https://app.example/callback.',
    too_long: '{uri} is longer than 2,048 characters.',
    characters: '{uri} has spaces, backslashes or characters outside ASCII; write those percent-encoded.',
    fragment: '{uri} must not have a fragment (#…).',
    user_info: '{uri} must not contain a user name or password.',
    wildcard: '{uri} must not contain a wildcard (*).',
    not_https: '{uri} must begin with https://.',
    development_only: '{uri} must begin with https://. Loopback addresses work only on a server in development.',
  },
  th: {
    title: 'แอปของคุณ',
    intro: 'แอปทำงานแทนครีเอเตอร์ที่เชื่อมต่อ เช่น อ่านรายการทิป บันทึกทิป และแสดงการแจ้งเตือน',
    register: 'ลงทะเบียนแอป',
    sandbox: 'ครีเอเตอร์ทดลอง',
    emptyTitle: 'คุณยังไม่มีแอป',
    emptyText: 'ลงทะเบียนแอปเพื่อรับ Client ID และ Secret จากนั้นส่งครีเอเตอร์ไปยังหน้าขออนุญาตด้วยลิงก์แบบนี้',
    suspended: 'ถูกระงับ',
    suspendedText: 'ผู้ดูแลระบบระงับแอปนี้ไว้ โทเคนของแอปจะใช้งานไม่ได้จนกว่าจะยกเลิกการระงับ',
    registerIntro: 'ครีเอเตอร์จะเห็นชื่อนี้ตอนเชื่อมต่อแอป สิ่งที่พิมพ์ที่นี่แก้ไขภายหลังได้',
    name: 'ชื่อแอป',
    description: 'คำอธิบาย',
    descriptionHint: 'บอกสั้น ๆ ว่าแอปทำอะไรให้ครีเอเตอร์ แสดงตอนเชื่อมต่อแอป ไม่เกิน {most} ตัวอักษร',
    homepage: 'เว็บไซต์',
    privacy: 'หน้านโยบายความเป็นส่วนตัว',
    linkHint: 'ขึ้นต้นด้วย https:// แสดงตอนครีเอเตอร์เชื่อมต่อแอป เว้นว่างได้',
    logo: 'โลโก้',
    logoIntro: 'แสดงข้างชื่อตอนครีเอเตอร์เชื่อมต่อแอป',
    logoFile: 'รูปภาพ',
    logoHint: 'PNG, JPEG หรือ WebP ไม่เกิน 2 MB ระบบจะย่อขนาดและเก็บเฉพาะภาพเท่านั้น',
    logoUpload: 'อัปโหลด',
    logoRemove: 'ลบโลโก้',
    logoUploaded: 'อัปโหลดโลโก้แล้ว',
    logoRemoved: 'ลบโลโก้แล้ว',
    logoNone: 'กรุณาเลือกรูปภาพก่อน',
    logoLarge: 'รูปภาพใหญ่เกิน 2 MB',
    logoKind: 'ไฟล์นี้ไม่ใช่รูป PNG, JPEG หรือ WebP หรือไฟล์เสียหาย',
    logoPixels: 'รูปภาพมีมากกว่า 40 ล้านพิกเซล หรือมีด้านที่ยาวเกิน 16,384 พิกเซล',
    redirectUris: 'Redirect URI',
    redirectHint: 'บรรทัดละหนึ่งรายการ หลังให้อนุญาต เบราว์เซอร์จะกลับไปยังที่อยู่หนึ่งในนี้ ซึ่งต้องตรงกันทุกตัวอักษร และขึ้นต้นด้วย https://',
    redirectHintDevelopment:
      'บรรทัดละหนึ่งรายการ หลังให้อนุญาต เบราว์เซอร์จะกลับไปยังที่อยู่หนึ่งในนี้ ซึ่งต้องตรงกันทุกตัวอักษร และขึ้นต้นด้วย https:// ระหว่างที่เซิร์ฟเวอร์อยู่ในโหมดพัฒนา ใช้ http://localhost:PORT หรือ http://127.0.0.1:PORT ได้ด้วย',
    tooMany: 'หนึ่งบัญชีมีได้ไม่เกิน {most} แอป กรุณาลบแอปที่ไม่ใช้แล้ว',
    public: 'สาธารณะ',
    publicApp: 'ทำงานบนเครื่องของผู้ใช้เอง',
    publicAppHint:
      'โปรแกรมบนคอมพิวเตอร์ ม็อดเกม หรือสตรีมเด็คเก็บความลับไม่ได้ จึงไม่มี Secret แต่ยืนยันตัวด้วย PKCE หรือเชื่อมต่อด้วยรหัสที่ครีเอเตอร์พิมพ์เอง ซึ่งไม่ต้องมี Redirect URI ตัวเลือกนี้เปลี่ยนภายหลังไม่ได้',
    publicHint: 'แอปสาธารณะไม่มี Secret เพราะใครก็ตามที่มีโปรแกรมย่อมอ่านได้ แอปส่งเพียง Client ID',
    nextPublic: 'โปรแกรมของคุณขอรหัส แสดงรหัสและที่อยู่ให้ครีเอเตอร์ แล้วถามหาโทเคนไปเรื่อยๆ จนกว่าครีเอเตอร์จะอนุญาต',
    devicesGuide: 'อ่านคู่มือ',
    back: 'แอปของคุณ',
    credentials: 'ข้อมูลสำหรับเชื่อมต่อ',
    clientId: 'Client ID',
    clientSecret: 'Client secret',
    copy: 'คัดลอก',
    copied: 'คัดลอกแล้ว',
    secretShown: 'คัดลอก Secret ตอนนี้และเก็บไว้บนเซิร์ฟเวอร์ของคุณ ระบบจะไม่แสดงอีก',
    secretHint: 'Secret แสดงเพียงครั้งเดียวตอนสร้าง หากทำหายหรือรั่วไหล ให้สร้างใหม่',
    oldSecret: 'Secret ก่อนหน้านี้ใช้ได้ถึง',
    newSecret: 'สร้าง Secret ใหม่',
    newSecretMeans: 'Secret ที่ใช้อยู่จะใช้ได้อีก 24 ชั่วโมง เพื่อให้มีเวลาเปลี่ยน ส่วน Secret ก่อนหน้านั้นจะใช้ไม่ได้ทันที',
    newSecretNow: 'สร้าง Secret ใหม่เลย',
    newSecretDone: 'สร้าง Secret ใหม่แล้ว',
    newSecretOutdated: 'มีการสร้าง Secret อื่นหลังจากเปิดหน้านี้ จึงไม่มีอะไรเปลี่ยนแปลง',
    details: 'รายละเอียด',
    save: 'บันทึก',
    saved: 'บันทึกแล้ว',
    registered: 'ลงทะเบียน {app} แล้ว',
    appExists: 'แบบฟอร์มถูกส่งสองครั้ง แต่ลงทะเบียนเพียงแอปเดียว Secret แสดงเฉพาะครั้งแรก หากไม่ทันได้คัดลอก กรุณาสร้างใหม่',
    next: 'เชื่อมต่อกับครีเอเตอร์',
    nextIntro: 'ส่งเบราว์เซอร์ของครีเอเตอร์ไปยังที่อยู่นี้ โดยสุ่มค่า state ใหม่ทุกครั้ง',
    tryIt: 'เปิดหน้าขออนุญาต',
    exchange: 'เบราว์เซอร์จะกลับมาพร้อม code และ state จากนั้นเซิร์ฟเวอร์ของคุณต้องแลก code ภายในห้านาที',
    remove: 'ลบแอปนี้',
    removeOpen: 'ลบ…',
    removeMeans: 'ครีเอเตอร์ทุกคนจะถูกยกเลิกการเชื่อมต่อทันทีและโทเคนจะใช้ไม่ได้ ทิปที่แอปบันทึกไว้จะยังแสดงชื่อแอป การลบนี้ย้อนกลับไม่ได้',
    removeNow: 'ลบ {app}',
    removed: 'ลบ {app} แล้ว',
    nameLength: 'กรุณาตั้งชื่อที่มองเห็นได้ ความยาว 1 ถึง 60 ตัวอักษร',
    nameCharacters: 'ชื่อต้องไม่มีอักขระที่มองไม่เห็น อักขระควบคุม หรืออักขระกำหนดทิศทางข้อความ',
    nameReserved: 'ชื่อนี้อ่านแล้วเหมือนเป็นแอปของ Namjai หรือผู้ดูแลเซิร์ฟเวอร์นี้ กรุณาเลือกชื่ออื่น',
    descriptionLength: 'เขียนได้ไม่เกิน {most} ตัวอักษร',
    descriptionCharacters: 'คำอธิบายต้องไม่มีอักขระที่มองไม่เห็น อักขระควบคุม หรืออักขระกำหนดทิศทางข้อความ',
    linkNotHttps: 'กรุณาใส่ที่อยู่แบบเต็มที่ขึ้นต้นด้วย https://',
    uriNone: 'กรุณาระบุ Redirect URI อย่างน้อยหนึ่งรายการ',
    uriTooMany: 'ระบุ Redirect URI ได้ไม่เกิน {most} รายการ',
    not_absolute: '{uri} ไม่ใช่ที่อยู่แบบเต็ม เช่น https://app.example/callback',
    too_long: '{uri} ยาวเกิน 2,048 ตัวอักษร',
    characters: '{uri} มีช่องว่าง เครื่องหมาย \\ หรืออักขระนอก ASCII กรุณาเข้ารหัสแบบเปอร์เซ็นต์',
    fragment: '{uri} ต้องไม่มีส่วนต่อท้าย (#…)',
    user_info: '{uri} ต้องไม่มีชื่อผู้ใช้หรือรหัสผ่าน',
    wildcard: '{uri} ต้องไม่มีเครื่องหมายแทน (*)',
    not_https: '{uri} ต้องขึ้นต้นด้วย https://',
    development_only: '{uri} ต้องขึ้นต้นด้วย https:// ที่อยู่ loopback ใช้ได้เฉพาะเซิร์ฟเวอร์ในโหมดพัฒนา',
  },
});

export const tooManyText = (lang: Lang): string => words(lang)('tooMany', { most: mostApps });

const nameKeys = { length: 'nameLength', characters: 'nameCharacters', reserved: 'nameReserved' } as const;

/** Everything that is wrong with one field, in the reader's language; nothing if it is fine. */
export function problemText(problems: readonly DetailProblem[], field: DetailProblem['field'], lang: Lang) {
  const t = words(lang);
  const texts = problems
    .filter((found) => found.field === field)
    .map((found) => {
      if (found.field === 'name') return t(nameKeys[found.problem]);
      if (found.field === 'description')
        return found.problem === 'length'
          ? t('descriptionLength', { most: longestDescription })
          : t('descriptionCharacters');
      if (found.field !== 'redirectUris') return t('linkNotHttps');
      if ('uri' in found) return t(found.problem, { uri: found.uri });
      return found.problem === 'none' ? t('uriNone') : t('uriTooMany', { most: mostRedirectUris });
    });
  return texts.length > 0 ? texts.join('\n') : undefined;
}
