import { messages } from '../../platform/web/i18n.ts';

/** Words of the page "Your data". */
export const leavingWords = messages({
  en: {
    title: 'Your data',
    intro: 'Download everything that is stored about you, or delete your account.',
    back: 'Account and security',
    recentTitle: 'Sign in once more to continue',
    recentText: 'Your data can be taken or deleted only shortly after signing in.',
    recentAction: 'Sign in again',
    exportTitle: 'Download your data',
    exportIntro:
      'One ZIP archive of everything that is stored about you: profile, tips (as JSON and CSV), events, goals, screening, apps, connections, sessions, and the pictures and sounds that you uploaded. It holds no passwords, keys or tokens.',
    exportCare: 'It also holds the names and messages of your supporters: keep it in a safe place.',
    exportAction: 'Download my data',
    deleteTitle: 'Delete your account',
    deleteIntro:
      'Your account is suspended at once: page, overlay, API and your apps stop. For seven days you can sign in to have it back as it was. Then everything of it is deleted: profile, tips, texts and uploads, with your apps, the connections of their users, and your sandbox creators.',
    deleteStays:
      'Nobody can bring it back then. Connected apps are told that you have left; what they have stored themselves is theirs to delete. Tips that other creators got through an app of yours keep the name of that app.',
    deleteOpen: 'Delete my account',
    deleteName: 'Type your username to confirm',
    deleteAction: 'Delete my account in seven days',
    deleteWrong: 'That is not your username: {username}',
    deleteDemo: 'The demo account belongs to the demo world, which the operator removes as a whole.',
    deleted: 'Your account is suspended, and will be deleted in seven days. Sign in before then to keep it.',
  },
  th: {
    title: 'ข้อมูลของคุณ',
    intro: 'ดาวน์โหลดทุกอย่างที่บันทึกไว้เกี่ยวกับคุณ หรือลบบัญชี',
    back: 'บัญชีและความปลอดภัย',
    recentTitle: 'กรุณาเข้าสู่ระบบอีกครั้งเพื่อดำเนินการต่อ',
    recentText: 'ดาวน์โหลดหรือลบข้อมูลได้เฉพาะช่วงสั้น ๆ หลังเข้าสู่ระบบเท่านั้น',
    recentAction: 'เข้าสู่ระบบอีกครั้ง',
    exportTitle: 'ดาวน์โหลดข้อมูลของคุณ',
    exportIntro:
      'ไฟล์ ZIP หนึ่งไฟล์ที่มีทุกอย่างที่บันทึกไว้เกี่ยวกับคุณ ได้แก่ โปรไฟล์ ทิป (JSON และ CSV) เหตุการณ์ เป้าหมาย การคัดกรอง แอป การเชื่อมต่อ เซสชัน รวมถึงรูปภาพและเสียงที่คุณอัปโหลด ไม่มีรหัสผ่าน คีย์ หรือโทเคน',
    exportCare: 'ในไฟล์มีชื่อและข้อความของผู้สนับสนุนด้วย กรุณาเก็บไว้ในที่ปลอดภัย',
    exportAction: 'ดาวน์โหลดข้อมูลของฉัน',
    deleteTitle: 'ลบบัญชีของคุณ',
    deleteIntro:
      'บัญชีจะถูกระงับทันที ทั้งหน้าเพจ โอเวอร์เลย์ API และแอปของคุณจะหยุดทำงาน ภายในเจ็ดวันคุณเข้าสู่ระบบเพื่อขอคืนบัญชีในสภาพเดิมได้ หลังจากนั้นทุกอย่างจะถูกลบ ได้แก่ โปรไฟล์ ทิป ข้อความ ไฟล์ที่อัปโหลด รวมถึงแอปของคุณ การเชื่อมต่อของผู้ใช้แอป และครีเอเตอร์ทดลองของคุณ',
    deleteStays:
      'เมื่อถึงตอนนั้นไม่มีใครกู้คืนได้ แอปที่เชื่อมต่อจะได้รับแจ้งว่าคุณเลิกใช้งานแล้ว ข้อมูลที่แอปเก็บไว้เองเป็นหน้าที่ของแอปที่จะลบ ทิปที่ครีเอเตอร์คนอื่นได้รับผ่านแอปของคุณจะยังมีชื่อแอปนั้นอยู่',
    deleteOpen: 'ลบบัญชีของฉัน',
    deleteName: 'พิมพ์ชื่อผู้ใช้ของคุณเพื่อยืนยัน',
    deleteAction: 'ลบบัญชีของฉันในอีกเจ็ดวัน',
    deleteWrong: 'ไม่ตรงกับชื่อผู้ใช้ของคุณ: {username}',
    deleteDemo: 'บัญชีสาธิตเป็นส่วนหนึ่งของโลกสาธิต ซึ่งผู้ดูแลเซิร์ฟเวอร์ลบทั้งหมดพร้อมกัน',
    deleted: 'บัญชีของคุณถูกระงับ และจะถูกลบในอีกเจ็ดวัน หากต้องการเก็บไว้ กรุณาเข้าสู่ระบบก่อนถึงเวลานั้น',
  },
});

export type LeavingWords = ReturnType<typeof leavingWords>;
