// The look of the console: colours, type, radius and shadow are decided here and nowhere else. The
// tokens are those of the sandbox's inbox and of the demo page.
import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from '@mantine/core';

const bronze: MantineColorsTuple = [
  '#fbf4ea',
  '#f3e4cd',
  '#eacfa6',
  '#e2ba7f',
  '#dca764',
  '#c98f45',
  '#b4763a',
  '#9d6626',
  '#8a571a',
  '#6f4412',
];

/** The greys of the light scheme, warm as its grounds and lines. */
const gray: MantineColorsTuple = [
  '#f9f8f6',
  '#f0eeea',
  '#e9e6e0',
  '#dedad3',
  '#cbc6bd',
  '#a39c92',
  '#7d766c',
  '#635d55',
  '#45403a',
  '#1f1d1a',
];

/** The greys of the dark scheme, warm as the light ones. */
const dark10: MantineColorsTuple = [
  '#ece9e4',
  '#d6d2cb',
  '#bdb7ae',
  '#8f887e',
  '#57524b',
  '#35322e',
  '#262421',
  '#1f1d1b',
  '#191816',
  '#161513',
];

/** The accent looks the same on buttons as in the navigation, in both schemes. */
const accents: Readonly<Record<string, Partial<ReturnType<VariantColorsResolver>>>> = {
  filled: { color: 'var(--on-accent)' },
  light: {
    background: 'var(--accent-ground)',
    hover: 'color-mix(in oklab, var(--accent-ground), var(--accent) 8%)',
    color: 'var(--accent)',
  },
  subtle: { hover: 'var(--accent-ground)', color: 'var(--accent)' },
};

/** Buttons in accent and in red get tokens whose contrast is AA in both schemes. */
const variantColorResolver: VariantColorsResolver = (input) => {
  const resolved = defaultVariantColorsResolver(input);
  const color = input.color ?? input.theme.primaryColor;
  if (color === 'bronze') return { ...resolved, ...accents[input.variant] };
  if (color !== 'red') return resolved;
  if (input.variant === 'filled') {
    const hover = 'color-mix(in oklab, var(--bad), var(--text) 16%)';
    return { ...resolved, background: 'var(--bad)', hover, color: 'var(--on-bad)' };
  }
  const grounds: Readonly<Record<string, string>> = { light: 'var(--bad-ground)', default: 'var(--surface)' };
  const background = grounds[input.variant] ?? 'transparent';
  return { ...resolved, background, hover: 'var(--bad-ground)', color: 'var(--bad)' };
};

const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const fontFamilyMonospace =
  'ui-monospace, "SF Mono", "Cascadia Mono", "Segoe UI Mono", "Liberation Mono", Menlo, monospace';

export const theme = createTheme({
  primaryColor: 'bronze',
  primaryShade: { light: 8, dark: 4 },
  variantColorResolver,
  black: '#1f1d1a',
  colors: { bronze, gray, dark: dark10 },
  fontFamily,
  fontFamilyMonospace,
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '1.34', sm: '1.4', md: '1.43', lg: '1.5', xl: '1.4' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '8px', xl: '8px' },
  defaultRadius: 'md',
  shadows: { xs: 'var(--shadow)', sm: 'var(--shadow)', md: 'var(--shadow)', lg: 'var(--shadow)', xl: 'var(--shadow)' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  headings: {
    fontFamily,
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '22px', lineHeight: '30px' },
      h2: { fontSize: '15px', lineHeight: '22px' },
      h3: { fontSize: '13px', lineHeight: '20px' },
    },
  },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    InputWrapper: { defaultProps: { withAsterisk: false } },
    // Nothing on a page is smaller than 12 px.
    InputDescription: { defaultProps: { fz: 12 } },
    InputError: { defaultProps: { fz: 12 } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', allowDeselect: false, checkIconPosition: 'right' } },
    // Titles of windows look as those of cards.
    ModalTitle: { defaultProps: { fz: 15, fw: 600 } },
    DrawerTitle: { defaultProps: { fz: 15, fw: 600 } },
    Switch: { defaultProps: { withThumbIndicator: false } },
    // Icons on the accent have the colour of a button's text, because white has too little contrast
    // on the dark scheme's bronze.
    Radio: { defaultProps: { iconColor: 'var(--on-accent)' } },
    Checkbox: { defaultProps: { iconColor: 'var(--on-accent)' } },
    // A menu contains only items, and nothing else that takes the focus.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: {
      defaultProps: {
        centered: true,
        closeButtonProps: { 'aria-label': 'Close' },
        overlayProps: { backgroundOpacity: 0.35 },
        transitionProps: { duration: 120 },
      },
    },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250, events: { hover: true, focus: true, touch: true } } },
    Anchor: { defaultProps: { underline: 'hover' } },
    Badge: { defaultProps: { variant: 'light', radius: 'xs' } },
  },
});

interface Tones {
  readonly good: string;
  readonly bad: string;
  readonly warn: string;
  readonly idle: string;
}

/** Tokens of one scheme, under the names that console.css uses. */
function tokens(colors: Record<string, string>, text: Tones, ground: Tones): Record<string, string> {
  return {
    ...colors,
    ...Object.fromEntries(Object.entries(text).map(([tone, color]) => [`--${tone}`, color])),
    ...Object.fromEntries(Object.entries(ground).map(([tone, color]) => [`--${tone}-ground`, color])),
    '--mantine-color-body': colors['--surface'] ?? '',
    '--mantine-color-text': colors['--text'] ?? '',
    '--mantine-color-dimmed': colors['--muted'] ?? '',
    '--mantine-color-placeholder': colors['--muted'] ?? '',
    '--mantine-color-default': colors['--surface'] ?? '',
    '--mantine-color-default-color': colors['--text'] ?? '',
    '--mantine-color-default-hover': colors['--sunken'] ?? '',
    '--mantine-color-default-border': colors['--line-strong'] ?? '',
    '--mantine-color-anchor': colors['--accent'] ?? '',
    '--mantine-color-error': text.bad,
    '--mantine-color-disabled-color': colors['--faint'] ?? '',
  };
}

const light = tokens(
  {
    '--ground': '#f6f5f3',
    '--surface': '#ffffff',
    '--sunken': '#f0eeea',
    '--line': '#e2dfd9',
    '--line-strong': '#cbc6bd',
    '--text': '#1f1d1a',
    '--muted': '#635d55',
    '--faint': '#7d766c',
    '--accent': '#8a571a',
    '--accent-ground': '#f8efe2',
    '--on-accent': '#ffffff',
    '--on-bad': '#ffffff',
    '--shadow': '0 1px 2px #1f1d1a1f, 0 4px 12px #1f1d1a14',
  },
  { good: '#1c6b3f', bad: '#a8281e', warn: '#7a5300', idle: '#635d55' },
  { good: '#e5f3ea', bad: '#fbe9e7', warn: '#fbf1d6', idle: '#f0eeea' },
);

const dark = tokens(
  {
    '--ground': '#161513',
    '--surface': '#1f1d1b',
    '--sunken': '#191816',
    '--line': '#35322e',
    '--line-strong': '#57524b',
    '--text': '#ece9e4',
    '--muted': '#a8a198',
    '--faint': '#8f887e',
    '--accent': '#dca764',
    '--accent-ground': '#33271a',
    '--on-accent': '#231805',
    '--on-bad': '#2b0d0a',
    '--shadow': '0 1px 2px #00000066, 0 4px 12px #00000059',
  },
  { good: '#6fcf97', bad: '#f2938b', warn: '#e8c063', idle: '#a8a198' },
  { good: '#17291f', bad: '#361c1a', warn: '#302711', idle: '#2b2825' },
);

export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light, dark });
