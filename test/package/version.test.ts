import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { sourceVersion } from '../../scripts/build-deb/version.ts';
import { temporaryFolder } from '../support/workspace.ts';

/** Sources of version 0.2.0 and what git does there at a moment. */
function sources(t: TestContext) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'package.json'), '{ "version": "0.2.0" }');
  const git = (at: string, ...words: string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@x', ...words], {
      encoding: 'utf8',
      env: { ...process.env, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at },
    }).trim();
  const commit = (at: string): string => {
    git(at, 'add', '-A');
    git(at, 'commit', '-q', '--allow-empty', '-m', 'x');
    return git(at, 'rev-parse', '--short=8', 'HEAD');
  };
  git('2026-01-01T00:00:00Z', 'init', '-q');
  return { folder, git, commit, version: () => sourceVersion(folder) };
}

const isNewer = (one: string, other: string): boolean => {
  try {
    execFileSync('dpkg', ['--compare-versions', one, 'gt', other]);
    return true;
  } catch {
    return false;
  }
};

describe('the version of a build', () => {
  test('the version of a build is the one of package.json without a history', (t) => {
    const { folder, version } = sources(t);
    assert.equal(version(), '0.2.0');
    assert.equal(sourceVersion(temporaryFolderWithin(folder)), '0.3.0', 'a folder within a checkout');
  });

  test('the version of a build is that of the tag on a tagged commit, and grows from commit to commit before and after it', (t) => {
    const { git, commit, version } = sources(t);
    const first = commit('2026-01-01T10:00:00Z');
    const versions = [version()];
    assert.equal(versions[0], `0.2.0~20260101.100000.${first}`);
    commit('2026-01-01T10:00:05Z');
    versions.push(version());
    commit('2026-01-02T09:00:00Z');
    git('2026-01-02T09:00:00Z', 'tag', 'v0.2.0');
    versions.push(version());
    assert.equal(versions[2], '0.2.0');
    const after = commit('2026-01-03T09:00:00Z');
    versions.push(version());
    assert.equal(versions[3], `0.2.0+20260103.090000.${after}`);
    for (const [index, one] of versions.slice(1).entries())
      assert.ok(isNewer(one, versions[index] ?? ''), `${one} follows ${versions[index]}`);
  });

  test('the version of a build grows with each uncommitted change, also on a tagged commit', (t) => {
    const { folder, git, commit, version } = sources(t);
    const hash = commit('2026-01-01T10:00:00Z');
    const file = join(folder, 'new file');
    writeFileSync(file, '');
    utimesSync(file, 1_767_268_800, 1_767_268_800);
    const changed = version();
    assert.equal(changed, `0.2.0~20260101.120000.${hash}.changed`);
    utimesSync(file, 1_767_268_801, 1_767_268_801);
    assert.ok(isNewer(version(), changed));
    git('2026-01-01T10:00:00Z', 'tag', 'v0.2.0');
    assert.equal(version(), `0.2.0+20260101.120001.${hash}.changed`);
  });
});

function temporaryFolderWithin(folder: string): string {
  const inner = join(folder, 'inner');
  execFileSync('mkdir', [inner]);
  writeFileSync(join(inner, 'package.json'), '{ "version": "0.3.0" }');
  return inner;
}
