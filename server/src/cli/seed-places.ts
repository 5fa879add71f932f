// The places where the people of a seeded app live: languages, time zones, first names and shares
// of the population. Data only.

export interface Place {
  readonly country: string;
  readonly language: string;
  readonly locale: string;
  /** IANA names, the zone with the most people first. */
  readonly zones: readonly string[];
  readonly names: readonly string[];
  /** The number of people here, relative to the other places. */
  readonly weight: number;
}

function place(
  locale: string,
  weight: number,
  zones: readonly string[],
  names: string,
  language: string = locale.slice(0, 2),
): Place {
  return { country: locale.slice(-2), language, locale, zones, names: names.split(' '), weight };
}

export const places: readonly Place[] = [
  place('de-DE', 18, ['Europe/Berlin'], 'Anna Jonas Lea Paul Jürgen Käthe Mia Lukas Sofie Björn Emma Felix'),
  place('de-AT', 3, ['Europe/Vienna'], 'Lena Maximilian Johanna Tobias Magdalena Florian'),
  place('de-CH', 3, ['Europe/Zurich'], 'Noah Nina Reto Ladina Beat Seraina'),
  place(
    'en-US',
    20,
    ['America/New_York', 'America/Chicago', 'America/Los_Angeles', 'America/Denver', 'America/Phoenix'],
    'Olivia Liam Ava Ethan Sofia Jayden Chloe Mason Grace Tyrone Hannah Diego',
  ),
  place('en-GB', 8, ['Europe/London'], 'Amelia Oliver Isla Harry Freya Alfie Zara Callum'),
  place('en-IN', 6, ['Asia/Kolkata'], 'Aarav Diya Vihaan Ananya Kabir Meera Rohan Priya'),
  place(
    'en-AU',
    3,
    ['Australia/Sydney', 'Australia/Brisbane', 'Australia/Perth'],
    'Charlotte Jack Matilda Cooper Ruby',
  ),
  place('fr-FR', 8, ['Europe/Paris'], 'Léa Hugo Chloé Théo Zoé François Manon Noël'),
  place('fr-CA', 2, ['America/Toronto', 'America/Halifax'], 'Florence Émile Rosalie Félix Maëlle'),
  place('es-ES', 5, ['Europe/Madrid', 'Atlantic/Canary'], 'Lucía Mateo Íñigo Carmen Begoña Pablo'),
  place('es-MX', 5, ['America/Mexico_City', 'America/Tijuana'], 'Ximena Santiago Valentina Emiliano Regina'),
  place('it-IT', 4, ['Europe/Rome'], 'Giulia Lorenzo Aurora Niccolò Chiara'),
  place('nl-NL', 3, ['Europe/Amsterdam'], 'Sanne Daan Fleur Sem Noor'),
  place('sv-SE', 2, ['Europe/Stockholm'], 'Astrid Åsa Göran Elsa Björn'),
  place('pl-PL', 3, ['Europe/Warsaw'], 'Zofia Łukasz Małgorzata Wojciech Agnieszka'),
  place('pt-BR', 6, ['America/Sao_Paulo', 'America/Manaus'], 'João Helena Caetano Inês Thaís Luís'),
  place('tr-TR', 3, ['Europe/Istanbul'], 'Ayşe Emre Çağla İsmail Gül'),
  place('uk-UA', 2, ['Europe/Kyiv'], 'Олена Тарас Соломія Андрій'),
  place('ar-EG', 2, ['Africa/Cairo'], 'فاطمة محمد ليلى يوسف'),
  place('ja-JP', 5, ['Asia/Tokyo'], '葵 蓮 陽菜 湊 結衣'),
  place('ko-KR', 2, ['Asia/Seoul'], '서연 민준 하은 도윤'),
  place('zh-TW', 2, ['Asia/Taipei'], '怡君 家豪 雅婷 志明', 'zh-Hant'),
];
