import { messages } from '../../../platform/web/i18n.ts';

export const words = messages({
  en: {
    title: 'Connect a device',
    intro: 'Type the code that your program or device shows. On the next page you see what it asks for.',
    code: 'Code',
    codeHint: 'Eight letters, such as BCDF-GHJK. Capitals and the dash do not matter.',
    codeMissing: 'Type the code.',
    codeWrong:
      'No device waits under this code. Check the letters, or let the device show a new code: one works for ten minutes, and once.',
    codeGone: 'This code has expired or was used. Let the device show a new one.',
    tooMany: 'Too many wrong codes. Wait ten minutes, let the device show a new code, and try again.',
    next: 'Continue',
    yourOwn:
      'Is this the code on your own device, and did you start this yourself just now? If somebody sent you the code or a link, they want to act in your name: do not connect.',
    asked: 'Asked at',
    from: 'From the address',
    sameNetwork: 'This address is the same as yours now.',
    otherNetwork:
      'This address is not the same as yours now. Be careful, unless the device is in another place or network.',
    approvedTitle: '{app} is connected',
    approvedText: 'You can close this page and go back to your device. It goes on by itself in a few seconds.',
    deniedTitle: '{app} was not connected',
    deniedText: 'It got no access to your account. You can close this page.',
    connections: 'Connected apps',
  },
  th: {
    title: 'เชื่อมต่ออุปกรณ์',
    intro: 'พิมพ์รหัสที่โปรแกรมหรืออุปกรณ์ของคุณแสดง หน้าถัดไปจะบอกว่าอุปกรณ์ขอสิทธิ์อะไรบ้าง',
    code: 'รหัส',
    codeHint: 'ตัวอักษรแปดตัว เช่น BCDF-GHJK จะพิมพ์เล็กหรือใหญ่ มีขีดหรือไม่มีก็ได้',
    codeMissing: 'กรุณาพิมพ์รหัส',
    codeWrong: 'ไม่มีอุปกรณ์ที่รออยู่ด้วยรหัสนี้ กรุณาตรวจตัวอักษร หรือให้อุปกรณ์แสดงรหัสใหม่ รหัสหนึ่งใช้ได้ครั้งเดียวภายในสิบนาที',
    codeGone: 'รหัสนี้หมดอายุหรือถูกใช้ไปแล้ว กรุณาให้อุปกรณ์แสดงรหัสใหม่',
    tooMany: 'พิมพ์รหัสผิดหลายครั้งเกินไป กรุณารอสิบนาที ให้อุปกรณ์แสดงรหัสใหม่ แล้วลองอีกครั้ง',
    next: 'ต่อไป',
    yourOwn:
      'รหัสนี้อยู่บนอุปกรณ์ของคุณเอง และคุณเป็นผู้เริ่มเองเมื่อสักครู่ใช่ไหม หากมีคนส่งรหัสหรือลิงก์นี้มาให้ เขาต้องการทำรายการในนามของคุณ กรุณาอย่าเชื่อมต่อ',
    asked: 'ขอเมื่อ',
    from: 'จากที่อยู่',
    sameNetwork: 'ที่อยู่นี้ตรงกับของคุณตอนนี้',
    otherNetwork: 'ที่อยู่นี้ไม่ตรงกับของคุณตอนนี้ กรุณาระวัง เว้นแต่อุปกรณ์อยู่คนละที่หรือใช้เครือข่ายอื่น',
    approvedTitle: 'เชื่อมต่อ {app} แล้ว',
    approvedText: 'ปิดหน้านี้แล้วกลับไปที่อุปกรณ์ของคุณได้เลย อุปกรณ์จะทำงานต่อเองในไม่กี่วินาที',
    deniedTitle: 'ไม่ได้เชื่อมต่อ {app}',
    deniedText: 'แอปนี้เข้าถึงบัญชีของคุณไม่ได้ ปิดหน้านี้ได้เลย',
    connections: 'แอปที่เชื่อมต่อ',
  },
});
