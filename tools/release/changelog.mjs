// Turns the changelog's section "Unreleased" into the section of a version
// (https://keepachangelog.com/en/1.1.0/).

const unreleased = '## [Unreleased]';

/** The text of the next release. Throws when nothing is written under "Unreleased". */
export function sectionOfNext(changelog) {
  const from = changelog.indexOf(unreleased);
  if (from < 0) throw new Error('CHANGELOG.md has no section "Unreleased"');
  const rest = changelog.slice(from + unreleased.length);
  const section = rest.slice(0, (/^## \[/m.exec(rest) ?? { index: rest.length }).index).trim();
  if (section === '') throw new Error('CHANGELOG.md says nothing under "Unreleased"');
  return section;
}

/** The changelog with that section under `version` and an empty "Unreleased" above it. */
export function withRelease(changelog, version, day) {
  sectionOfNext(changelog);
  return changelog.replace(unreleased, `${unreleased}\n\n## [${version}] - ${day}`);
}
