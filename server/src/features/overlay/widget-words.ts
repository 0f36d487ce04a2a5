import { messages } from '../../platform/web/i18n.ts';

/** The few words on a widget, in the language of its address. */
export const widgetWords = messages({
  en: {
    latest: 'Latest tips',
    topDay: 'Top supporters today',
    topMonth: 'Top supporters this month',
    topAll: 'Top supporters',
    totalDay: 'Today',
    totalMonth: 'This month',
    totalAll: 'All tips',
  },
  th: {
    latest: 'ทิปล่าสุด',
    topDay: 'ผู้สนับสนุนอันดับต้นวันนี้',
    topMonth: 'ผู้สนับสนุนอันดับต้นเดือนนี้',
    topAll: 'ผู้สนับสนุนอันดับต้น',
    totalDay: 'วันนี้',
    totalMonth: 'เดือนนี้',
    totalAll: 'ทิปทั้งหมด',
  },
});

/** Words of the card with the widgets' addresses. */
export const widgetCardWords = messages({
  en: {
    title: 'Widgets',
    intro:
      'Each is a page of its own for OBS, beside the alerts and in their look. They follow every tip, void and goal by themselves.',
    hidden: 'Show the address above, and those of the widgets appear here.',
    hint: 'Add &count=3 to show fewer or more, up to 10, and &look=500 for the look of a tip of ฿500.',
    goal: 'Goal bar',
    latest: 'Latest tips',
    topDay: 'Top supporters of the day',
    topMonth: 'Top supporters of the month',
    topAll: 'Top supporters of all time',
    totalDay: 'Total of the day',
    totalMonth: 'Total of the month',
    totalAll: 'Total of all time',
  },
  th: {
    title: 'วิดเจ็ต',
    intro: 'แต่ละวิดเจ็ตมีที่อยู่ของตัวเองสำหรับ OBS ใช้หน้าตาเดียวกับการแจ้งเตือน และอัปเดตเองตามทิป การยกเลิก และเป้าหมาย',
    hidden: 'กดแสดงที่อยู่ด้านบน แล้วที่อยู่ของวิดเจ็ตจะแสดงที่นี่',
    hint: 'เติม &count=3 ท้ายที่อยู่เพื่อกำหนดจำนวนรายการ ไม่เกิน 10 และเติม &look=500 เพื่อใช้หน้าตาของทิป ฿500',
    goal: 'แถบเป้าหมาย',
    latest: 'ทิปล่าสุด',
    topDay: 'ผู้สนับสนุนอันดับต้นประจำวัน',
    topMonth: 'ผู้สนับสนุนอันดับต้นประจำเดือน',
    topAll: 'ผู้สนับสนุนอันดับต้นตลอดกาล',
    totalDay: 'ยอดรวมวันนี้',
    totalMonth: 'ยอดรวมเดือนนี้',
    totalAll: 'ยอดรวมทั้งหมด',
  },
});
