import type { ExportedTableName } from '../../platform/db/tables.ts';

/** What a file of the archive holds, in English and Thai. */
const contents: Readonly<Record<ExportedTableName, readonly [en: string, th: string]>> = {
  creators: ['your profile', 'โปรไฟล์ของคุณ'],
  creator_heads: ['your totals', 'ยอดรวมของคุณ'],
  avatars: ['your picture', 'รูปของคุณ'],
  tips: ['your tips, with all details', 'ทิปของคุณ พร้อมรายละเอียดทั้งหมด'],
  goals: ['your goals', 'เป้าหมายของคุณ'],
  events: ['events of the last 30 days, as apps got them', 'เหตุการณ์ใน 30 วันล่าสุด ตามที่แอปได้รับ'],
  screening_rules: ['screening: blocked words and names, what is held', 'การคัดกรอง: คำและชื่อที่บล็อก และสิ่งที่ต้องรออนุมัติ'],
  audit: ['the activity of your account', 'ความเคลื่อนไหวของบัญชี'],
  sessions: ['where you are signed in', 'อุปกรณ์ที่เข้าสู่ระบบอยู่'],
  passkeys: ['your passkeys, by name', 'ชื่อพาสคีย์ของคุณ'],
  first_steps: ['first steps that you have done', 'ขั้นตอนแรกที่ทำแล้ว'],
  grants: ['apps that may or might act for you', 'แอปที่ทำงานแทนคุณได้ หรือเคยได้'],
  grant_uses: ['when these apps were last active', 'เวลาที่แอปเหล่านั้นทำงานครั้งล่าสุด'],
  overlays: ['settings and looks of your overlay', 'ค่าตั้งและรูปแบบของโอเวอร์เลย์'],
  moderator_links: ['links for moderators, by name', 'ชื่อลิงก์สำหรับผู้ช่วยดูแล'],
  stream_keys: ['stream keys, by name', 'ชื่อคีย์สตรีม'],
  overlay_files: ['pictures and sounds of your alerts', 'รูปภาพและเสียงของการแจ้งเตือน'],
  apps: ['apps that you have registered', 'แอปที่คุณลงทะเบียน'],
  app_logos: ['logos of these apps', 'โลโก้ของแอปเหล่านั้น'],
  webhook_endpoints: ['webhooks of these apps, and your connections', 'เว็บฮุกของแอปเหล่านั้น และการเชื่อมต่อของคุณ'],
};

function describe(table: ExportedTableName): string {
  const [en, th] = contents[table];
  return `${table}.json: ${en} · ${th}`;
}

/** The first file of the archive, in both languages: whoever opens it years later has no page to ask. */
export const readme = (username: string, at: string, tables: readonly ExportedTableName[]): string => `\
Namjai: the data of the account "${username}", as stored at ${at}

tips.csv opens in any spreadsheet. Every other file is JSON, one for each table of the database that holds something about
you: one object a line, in UTF-8. Amounts in columns that end in _minor are satang (100 satang = 1 baht), times in JSON are
UTC, 1 is yes and 0 is no. "client_id" is the id of an app, "app_name" its name. Pictures and sounds that you uploaded are in
folders named after their table; "bytes" is the name of the file.

Passwords, keys, tokens and secrets are not part of it: nobody should find them in a file. What is counted from other
tables (lists of supporters, logs of deliveries) and your sandbox creators are left out.
Names and messages of supporters are personal data of theirs: keep this archive in a safe place.

---

Namjai: ข้อมูลของบัญชี "${username}" ที่บันทึกไว้ ณ ${at}

tips.csv เปิดได้ด้วยโปรแกรมตารางคำนวณทุกชนิด ไฟล์อื่นเป็น JSON หนึ่งไฟล์ต่อหนึ่งตารางของฐานข้อมูลที่มีข้อมูลของคุณ
หนึ่งรายการต่อบรรทัด เข้ารหัส UTF-8 จำนวนเงินในคอลัมน์ที่ลงท้ายด้วย _minor มีหน่วยเป็นสตางค์ เวลาใน JSON เป็น UTC
1 คือใช่ 0 คือไม่ใช่ "client_id" คือรหัสของแอป "app_name" คือชื่อแอป
รูปภาพและเสียงที่คุณอัปโหลดอยู่ในโฟลเดอร์ตามชื่อตาราง โดย "bytes" คือชื่อไฟล์

ไม่มีรหัสผ่าน คีย์ โทเคน และความลับใด ๆ เพราะไม่ควรมีใครพบสิ่งเหล่านี้ในไฟล์ ข้อมูลที่นับจากตารางอื่น
(รายชื่อผู้สนับสนุน บันทึกการส่ง) และครีเอเตอร์ทดลองของคุณไม่รวมอยู่ด้วย
ชื่อและข้อความของผู้สนับสนุนเป็นข้อมูลส่วนบุคคลของเขา กรุณาเก็บไฟล์นี้ไว้ในที่ปลอดภัย

---

${['tips.csv: your tips as a table · ทิปของคุณเป็นตาราง', ...tables.map(describe)].join('\n')}
`;
