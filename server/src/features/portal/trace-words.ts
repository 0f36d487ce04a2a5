import { messages } from '../../platform/web/i18n.ts';

export const traceWords = messages({
  en: {
    title: 'Why did it not appear?',
    cardText: 'Paste the ID of a tip or an event to see where it went, and why not further.',
    intro: 'Each step of a tip: recording, screening, the overlay, and every attempt of this app’s webhooks.',
    id: 'ID of a tip or an event',
    idHint: 'Such as {example}. It is in every answer, event and delivery.',
    submit: 'Show the way',
    back: 'Back to {app}',
    notFound:
      'There is no tip or event with this ID that this app may read. The creator must have connected the app; events are kept for 30 days.',
    tip: 'Tip',
    event: 'Event',
    see: 'See the whole way of this event',
  },
  th: {
    title: 'ทำไมถึงไม่แสดง',
    cardText: 'วางรหัสของทิปหรืออีเวนต์ เพื่อดูว่าไปถึงไหน และทำไมจึงไม่ไปต่อ',
    intro: 'ทุกขั้นตอนของทิป: การบันทึก การคัดกรอง โอเวอร์เลย์ และการส่งทุกครั้งไปยัง Webhook ของแอปนี้',
    id: 'รหัสของทิปหรืออีเวนต์',
    idHint: 'เช่น {example} อยู่ในทุกคำตอบ อีเวนต์ และการส่ง',
    submit: 'แสดงเส้นทาง',
    back: 'กลับไปที่ {app}',
    notFound: 'ไม่มีทิปหรืออีเวนต์รหัสนี้ที่แอปนี้อ่านได้ ครีเอเตอร์ต้องเชื่อมต่อแอปไว้ และระบบเก็บอีเวนต์ไว้ 30 วัน',
    tip: 'ทิป',
    event: 'อีเวนต์',
    see: 'ดูเส้นทางทั้งหมดของอีเวนต์นี้',
  },
});
