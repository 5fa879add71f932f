// The regions where the people of a seeded app live: languages, time zones, first names and shares
// of the population. Data only.

export interface Region {
  readonly country: string;
  readonly language: string;
  readonly locale: string;
  /** IANA names, the zone with the most people first. */
  readonly zones: readonly string[];
  readonly names: readonly string[];
  /** The number of people here, relative to the other regions. */
  readonly weight: number;
}

function region(
  locale: string,
  weight: number,
  zones: readonly string[],
  names: string,
  language: string = locale.slice(0, 2),
): Region {
  return { country: locale.slice(-2), language, locale, zones, names: names.split(' '), weight };
}

export const regions: readonly Region[] = [
  region('de-DE', 18, ['Europe/Berlin'], 'Anna Jonas Lea Paul Jürgen Käthe Mia Lukas Sofie Björn Emma Felix'),
  region('de-AT', 3, ['Europe/Vienna'], 'Lena Maximilian Johanna Tobias Magdalena Florian'),
  region('de-CH', 3, ['Europe/Zurich'], 'Noah Nina Reto Ladina Beat Seraina'),
  region(
    'en-US',
    20,
    ['America/New_York', 'America/Chicago', 'America/Los_Angeles', 'America/Denver', 'America/Phoenix'],
    'Olivia Liam Ava Ethan Sofia Jayden Chloe Mason Grace Tyrone Hannah Diego',
  ),
  region('en-GB', 8, ['Europe/London'], 'Amelia Oliver Isla Harry Freya Alfie Zara Callum'),
  region('en-IN', 6, ['Asia/Kolkata'], 'Aarav Diya Vihaan Ananya Kabir Meera Rohan Priya'),
  region(
    'en-AU',
    3,
    ['Australia/Sydney', 'Australia/Brisbane', 'Australia/Perth'],
    'Charlotte Jack Matilda Cooper Ruby',
  ),
  region('fr-FR', 8, ['Europe/Paris'], 'Léa Hugo Chloé Théo Zoé François Manon Noël'),
  region('fr-CA', 2, ['America/Toronto', 'America/Halifax'], 'Florence Émile Rosalie Félix Maëlle'),
  region('es-ES', 5, ['Europe/Madrid', 'Atlantic/Canary'], 'Lucía Mateo Íñigo Carmen Begoña Pablo'),
  region('es-MX', 5, ['America/Mexico_City', 'America/Tijuana'], 'Ximena Santiago Valentina Emiliano Regina'),
  region('it-IT', 4, ['Europe/Rome'], 'Giulia Lorenzo Aurora Niccolò Chiara'),
  region('nl-NL', 3, ['Europe/Amsterdam'], 'Sanne Daan Fleur Sem Noor'),
  region('sv-SE', 2, ['Europe/Stockholm'], 'Astrid Åsa Göran Elsa Björn'),
  region('pl-PL', 3, ['Europe/Warsaw'], 'Zofia Łukasz Małgorzata Wojciech Agnieszka'),
  region('pt-BR', 6, ['America/Sao_Paulo', 'America/Manaus'], 'João Helena Caetano Inês Thaís Luís'),
  region('tr-TR', 3, ['Europe/Istanbul'], 'Ayşe Emre Çağla İsmail Gül'),
  region('uk-UA', 2, ['Europe/Kyiv'], 'Олена Тарас Соломія Андрій'),
  region('ar-EG', 2, ['Africa/Cairo'], 'فاطمة محمد ليلى يوسف'),
  region('ja-JP', 5, ['Asia/Tokyo'], '葵 蓮 陽菜 湊 結衣'),
  region('ko-KR', 2, ['Asia/Seoul'], '서연 민준 하은 도윤'),
  region('zh-TW', 2, ['Asia/Taipei'], '怡君 家豪 雅婷 志明', 'zh-Hant'),
];
