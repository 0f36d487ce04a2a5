import { messages } from '../../../platform/web/i18n.ts';

export const words = messages({
  en: {
    title: 'Connect an app',
    question: 'Connect {app}?',
    by: 'An app by {owner}.',
    byOperator: 'An app by the operator of this site.',
    signedInAs: 'You are signed in as {name}.',
    otherAccount: 'Use another account',
    willBeAble: 'It asks to:',
    again: 'This app is already connected. Approving replaces what it may do with the list below.',
    againPublic: 'This app is already connected on another device. What that device may do stays as it is.',
    publicApp:
      'This app runs on somebody’s own device and cannot prove that it is {app}. Approve only what you started yourself.',
    returns: 'Whatever you choose, you then go to',
    undo: 'You can disconnect it at any time under “Connected apps”.',
    approve: 'Approve',
    deny: 'Do not connect',
    bad_client_id: 'The app that sent you here is not registered with us, or no longer. Tell its developer.',
    bad_redirect_uri:
      'The app that sent you here asked to return to an address that it has not registered. Tell its developer.',
  },
  th: {
    title: 'เชื่อมต่อแอป',
    question: 'เชื่อมต่อ {app} หรือไม่',
    by: 'แอปโดย {owner}',
    byOperator: 'แอปโดยผู้ดูแลเว็บไซต์นี้',
    signedInAs: 'คุณเข้าสู่ระบบในชื่อ {name}',
    otherAccount: 'ใช้บัญชีอื่น',
    willBeAble: 'แอปนี้ขอสิทธิ์:',
    again: 'คุณเชื่อมต่อแอปนี้อยู่แล้ว หากอนุญาตอีกครั้ง สิทธิ์เดิมจะถูกแทนที่ด้วยรายการด้านล่าง',
    againPublic: 'แอปนี้เชื่อมต่ออยู่แล้วบนอุปกรณ์อื่น สิทธิ์ของอุปกรณ์นั้นจะคงเดิม',
    publicApp: 'แอปนี้ทำงานบนอุปกรณ์ของผู้ใช้ จึงพิสูจน์ไม่ได้ว่าเป็น {app} จริง กรุณาอนุญาตเฉพาะเมื่อคุณเป็นผู้เริ่มเอง',
    returns: 'ไม่ว่าคุณจะเลือกอย่างไร ระบบจะพาคุณไปที่',
    undo: 'คุณยกเลิกการเชื่อมต่อได้ทุกเมื่อที่เมนู “แอปที่เชื่อมต่อ”',
    approve: 'อนุญาต',
    deny: 'ไม่เชื่อมต่อ',
    bad_client_id: 'แอปที่ส่งคุณมายังไม่ได้ลงทะเบียนกับเรา หรือถูกลบไปแล้ว โปรดแจ้งผู้พัฒนาแอป',
    bad_redirect_uri: 'แอปที่ส่งคุณมาขอให้กลับไปยังที่อยู่ที่ไม่ได้ลงทะเบียนไว้ โปรดแจ้งผู้พัฒนาแอป',
  },
});
