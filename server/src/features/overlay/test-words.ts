import { messages } from '../../platform/web/i18n.ts';

/** The result of a test alert or a replay that a page asked for, and the refusal of too many. */
export const testWords = messages({
  en: {
    sent: 'A test alert is on its way to your overlay.',
    waiting: 'Alerts are paused or hidden, so the test alert waits. It plays when you let alerts go on.',
    unseen: 'No overlay is open, so nobody saw the test alert. Open the overlay in OBS and send another.',
    held: 'The test alert is not played, because your screening rules hold or block tips like it. Change them under Screening to see one.',
    replayDone: 'The alert is played again.',
    replayWaiting: 'Alerts are paused or hidden, so the alert waits. It plays when you let alerts go on.',
    replayUnseen: 'No overlay is open, so nobody sees the alert now. Open the overlay in OBS first.',
    tooMany: 'That was a little too fast. Wait a moment before the next test alert.',
  },
  th: {
    sent: 'ส่งการแจ้งเตือนทดสอบไปยังโอเวอร์เลย์ของคุณแล้ว',
    waiting: 'การแจ้งเตือนถูกหยุดชั่วคราวหรือซ่อนอยู่ การแจ้งเตือนทดสอบจึงรอไว้ก่อน และจะแสดงเมื่อคุณให้แสดงต่อ',
    unseen: 'ยังไม่ได้เปิดโอเวอร์เลย์ จึงไม่มีใครเห็นการแจ้งเตือนทดสอบ กรุณาเปิดโอเวอร์เลย์ใน OBS แล้วส่งใหม่',
    held: 'การแจ้งเตือนทดสอบไม่แสดง เพราะกฎคัดกรองของคุณพักหรือบล็อกทิปลักษณะนี้ไว้ หากต้องการดู กรุณาเปลี่ยนกฎที่หน้า “คัดกรอง”',
    replayDone: 'แสดงการแจ้งเตือนอีกครั้งแล้ว',
    replayWaiting: 'การแจ้งเตือนถูกหยุดชั่วคราวหรือซ่อนอยู่ จึงรอไว้ก่อน และจะแสดงเมื่อคุณให้แสดงต่อ',
    replayUnseen: 'ยังไม่ได้เปิดโอเวอร์เลย์ จึงไม่มีใครเห็นการแจ้งเตือนตอนนี้ กรุณาเปิดโอเวอร์เลย์ใน OBS ก่อน',
    tooMany: 'ส่งถี่เกินไป กรุณารอสักครู่ก่อนส่งการแจ้งเตือนทดสอบครั้งต่อไป',
  },
});
