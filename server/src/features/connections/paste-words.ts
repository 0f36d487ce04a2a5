import { messages } from '../../platform/web/i18n.ts';

/** What to paste where, for a few common programs. */
export const pasteWords = messages({
  en: {
    title: 'What to paste where',
    discord1: 'In Discord, open Server Settings → Integrations → Webhooks. You need the permission to manage webhooks.',
    discord2: 'Make a new webhook, give it a name and a picture, and choose the channel.',
    discord3: 'Copy the webhook’s URL and paste it here.',
    firebot: 'Firebot with its Ko-fi plugin',
    firebot1:
      'In the settings of the plugin, write a token of your own into Verification Token, and the same token here.',
    firebot2: 'Click Copy URL there, and paste it here as the address.',
    make: 'Make (make.com)',
    make1: 'Add the Ko-fi module Watch Event to your scenario, and let it make a webhook.',
    make2: 'Copy the webhook’s address from there, and paste it here.',
    own: 'A bot of your own',
    own1: 'Any receiver for the webhooks of Ko-fi will do. Paste its address here.',
    own2: 'Give it and this page the same verification token.',
    scripts: 'A script or browser source that connects to sockets.streamlabs.com',
    scripts1: 'Find the line with the address of Streamlabs:',
    scripts2: 'Put the address of this server in its place, and your stream key as the token:',
    for: 'A program that looks at for === "streamlabs" gets it with &for=streamlabs at the end of the address.',
    python: 'Python (python-socketio)',
    python1: 'Connect to this server with your stream key:',
    fixed: 'A program that asks for a Streamlabs token and nothing else',
    fixed1:
      'It connects to Streamlabs and cannot be led here. Look whether it lets you set the address; if not, see whether it takes Ko-fi webhooks.',
  },
  th: {
    title: 'วางอะไรที่ไหน',
    discord1: 'ใน Discord เปิด Server Settings → Integrations → Webhooks ต้องมีสิทธิ์จัดการ Webhook',
    discord2: 'สร้าง Webhook ใหม่ ตั้งชื่อ ใส่รูป และเลือกช่อง',
    discord3: 'คัดลอก URL ของ Webhook แล้ววางที่นี่',
    firebot: 'Firebot กับปลั๊กอิน Ko-fi',
    firebot1: 'ในการตั้งค่าของปลั๊กอิน ใส่โทเคนที่ตั้งเองใน Verification Token และใส่โทเคนเดียวกันที่นี่',
    firebot2: 'คลิก Copy URL ที่นั่น แล้ววางที่นี่เป็นที่อยู่',
    make: 'Make (make.com)',
    make1: 'เพิ่มโมดูล Watch Event ของ Ko-fi ใน scenario ของคุณ แล้วให้สร้าง Webhook',
    make2: 'คัดลอกที่อยู่ของ Webhook จากที่นั่น แล้ววางที่นี่',
    own: 'บอทของคุณเอง',
    own1: 'ใช้ตัวรับ Webhook ของ Ko-fi ตัวใดก็ได้ วางที่อยู่ของมันที่นี่',
    own2: 'ใส่โทเคนยืนยันเดียวกันทั้งในบอทและในหน้านี้',
    scripts: 'สคริปต์หรือ Browser Source ที่เชื่อมต่อ sockets.streamlabs.com',
    scripts1: 'หาบรรทัดที่มีที่อยู่ของ Streamlabs',
    scripts2: 'ใส่ที่อยู่ของเซิร์ฟเวอร์นี้แทน และใช้คีย์สตรีมของคุณเป็นโทเคน',
    for: 'โปรแกรมที่ตรวจ for === "streamlabs" จะได้ค่านี้เมื่อต่อท้ายที่อยู่ด้วย &for=streamlabs',
    python: 'Python (python-socketio)',
    python1: 'เชื่อมต่อเซิร์ฟเวอร์นี้ด้วยคีย์สตรีมของคุณ',
    fixed: 'โปรแกรมที่ขอเฉพาะโทเคนของ Streamlabs',
    fixed1: 'โปรแกรมแบบนี้เชื่อมต่อกับ Streamlabs เท่านั้นและพามาที่นี่ไม่ได้ ดูว่าตั้งที่อยู่ได้หรือไม่ ถ้าไม่ได้ ดูว่ารับ Webhook ของ Ko-fi หรือไม่',
  },
});

export type PasteT = ReturnType<typeof pasteWords>;
