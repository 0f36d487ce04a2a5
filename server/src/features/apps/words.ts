import { messages } from '../../platform/web/i18n.ts';

export const words = messages({
  en: {
    says: 'In the words of its developer:',
    homepage: 'Homepage:',
    privacy: 'Privacy page:',
  },
  th: {
    says: 'คำอธิบายจากผู้พัฒนา:',
    homepage: 'เว็บไซต์:',
    privacy: 'นโยบายความเป็นส่วนตัว:',
  },
});
