/**
 * The starter lists: strong insults, slurs and sexual words that a creator may take over and edit. A `*` marks where a
 * word may go on. Spellings are listed that folding does not find by itself; in Thai also other tone marks, because the
 * matcher takes them as they are. Exceptions are innocent words that contain one of the words.
 */
interface StarterList {
  readonly words: readonly string[];
  readonly except: readonly string[];
}

const lines = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter(Boolean);

const english: StarterList = {
  words: lines(`
    *fuck*, fck, fcking, fcked, fcker, fuk, fuks, fuking, fuker, fuked, *phuck*, fcuk, fcuking, fuq, mofo, stfu
    shit, shits, shitty, shitting, shite, shithead*, shitface*, shithole*, bullshit*, dipshit*, horseshit, sht, shyt
    *bitch*, biatch*, bytch, bytches, btch, btches, beyotch
    cunt, cunts, cunty, kunt, kunts
    ass, asses, arse, arses, asshole*, arsehole*, asshat*, asswipe*, jackass*, dumbass*, fatass*, smartass*, badass*
    dick, dicks, dickhead*, dickface*, dik, suckmydick
    cock, cocks, cocksuck*, cockhead*
    pussy, pussies, pusy
    penis, penises, vagina, vaginas, clit, clits, anus, boner, boners, dildo*
    cum, cums, cumming, cumshot*, jizz*, blowjob*, handjob*, rimjob*, deepthroat*
    tits, titties, tittie, titty, boobs, boobies
    whore, whores, whoring, slut, sluts, slutty, skank, skanks
    nigger, niggers, nigga, niggas, niglet*, nigguh
    faggot*, fag, fags, faggy, tranny, trannies
    retard, retards, retarded, spaz
    chinky, gook, gooks, spic, spics, kike, kikes, wetback*, paki, pakis, coon, coons, raghead*, towelhead*
    rape, raped, rapes, raping, rapist, rapists, molest*, pedo, pedos, pedophile*, paedophile*, incest, bestiality
    bastard*, wank, wanker*, wanking, twat, twats, bollocks, tosser, tossers, knobhead*, douche*
    porno, pornhub, pornstar*, pornograph*, anal, milf, milfs, orgasm*, masturbat*, horny
    kys, kill yourself, kill urself, hang yourself, slit your wrists, gas the jews, heil hitler
  `),
  except: lines(`
    moby dick, dick van dyke, pussy willow, pussy cat, blue tits, great tits, maine coon, spic and span
    cum laude, summa cum, rape seed, assess
  `),
};

const thai: StarterList = {
  words: lines(`
    ควย, ค่วย, คว่ย, ค้วย, คว้ย, คว๊ย, ฆวย, ควัย, ครวย
    เหี้ย, เหี๊ย, เหี่ย, เหีย, เหรี้ย, เฮี้ย, หรี้ย
    เชี่ย, เชี้ย, เชรี่ย
    สัส, สั้ส, สั๊ส, ไอ้สัด, ไอสัด, อีสัด, ไอ่สัด, สัดหมา, ไอสัตว์, ไอ้สัตว์, อีสัตว์
    เย็ด, เย้ด, เยด, เยสแม่, เย็สแม่
    หี, หี้, หน้าหี, กลีบหี
    แตด, ขนหมอย, หมอยหมา, หำ, กระดอ, กะดอ
    เงี่ยน, เงี้ยน, เงียน
    ดอกทอง, อีดอก, อิดอก, กะหรี่, กระหรี่, อีแพศยา, แพศยา, อีแรด, อีร่าน, ร่านควย
    ส้นตีน, สันตีน, ส้นติน, หน้าตีน
    แม่มึงตาย, พ่อมึงตาย, แม่มึง, พ่อมึง, โคตรพ่อโคตรแม่
    ชาติหมา, ชาติชั่ว, หน้าตัวเมีย, สันดานหมา, ระยำ, จัญไร, อัปรีย์, อัปปรี, สถุน, สถุล
    ตอแหล, ตอแหร, กะเทยควาย, ตุ๊ดแตก
    ไปตายซะ, ไปตายห่า, ตายห่า, ห่าราก, ห่ากิน, ไอ้ห่า, อีห่า
    kuy, kuay, kvy, khuay, yedmae, yed mae, yedped, ehia, e hia, aihia, ai hia
  `),
  except: lines(`
    เหี่ยว, เหี้ยม, เหี้ยน, เหียน, เฮี้ยน, เฮี้ยว, เชี่ยว, เชี้ยว, สัสดี, หีบ, หีด
    แกงกะหรี่, ผงกะหรี่, ซอสกะหรี่, ข้าวกะหรี่, ก้อนกะหรี่, รสกะหรี่, ร้านกะหรี่, กินกะหรี่
    กะหรี่ปั๊บ, กะหรี่ปั๊ป, กะหรี่พัฟ, กะหรี่ญี่ปุ่น, กะหรี่ไก่, กะหรี่หมู, กะหรี่เนื้อ, กะหรี่กุ้ง
    ดอกทองกวาว, ดอกทองอุไร, ดอกทองพันชั่ง, ดอกทองคำ, กระดอน, กระดอง, กะดอน, กะดอง, อีดอกไม้, ห่ากินรี
    ไอ้ห่าง, อีห่าง, ไอ้ห่าน, อีห่าน, หำพวง
  `),
};

export const starterLists = { english, thai } as const;
