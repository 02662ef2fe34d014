/**
 * What the gateway says to people in sentences: what it puts into an error or a refusal, and the prose of files that make
 * such sentences. It is judged by the syntax that the compiler sees.
 */
import { relative } from 'node:path';
import { type Node } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';
import { lineAt } from './source-files.ts';

/** Whose arguments people read. */
const TELLS =
  /^(?:new )?(?:JsonExcess|HttpFailure|DeliveryError|FolderFailure|MqttFailure|VersionFailure|MqttRefusal|TargetFailure|TargetError|BackupError|PackageError|reject|problem|unavailable|invalidBody|\w+(?:\.#options)?\.(?:#say|#reject|appendLog)|(?:this\.#options\.)?rejections\.report|v\.(?:check|minLength|maxLength|regex|picklist|minValue|maxValue|custom))$/;
/** Whose arguments are for programs, the service log, or the description of the interface. */
const TELLS_OTHERS =
  /(?:\b|#)log\.\w+$|^new (?:Error|RegExp)$|^(?:conflict|requireFound|notFound|insufficientRole|unprocessable|gatewayError|refusedMessage)$|(?:^|\.)(?:about|named|wire|route|description|examples|example|assert|counter|gauge|histogram|queue|includes|startsWith|endsWith|join|split|test)$/;
/** Programs with sentences for people; errors for scripts and modules are not among them. */
const SOURCES =
  /^src\/(?:lib|platform|capabilities|gateway|scripting\/rule-sandbox|field-module|protocol(?!\/module\.))\//;
/** Files whose every sentence is for people. */
const MAKES_SENTENCES =
  /^src\/(?:lib\/(?:system-fault|errors|text)|platform\/(?:files\/dated-pieces|mqtt-client\/mqtt-client|outbound\/\w+|http-client\/http-client|http\/parse|host\/serial-probe|packages\/(?:deb-package|signature)|backup\/(?!take-over)[\w-]+)|capabilities\/(?:modules\/schema|modules\/scans|targets\/(?:changes|sender|influxdb\/influxdb-sink)|notifications\/(?:changes|sender)|backups\/service|appliance\/service|blueprints\/values|device-configuration\/service|updates\/service|commands\/(?:model|response-buffer)|energy\/sources))\.ts$/;
const PROSE = /\p{L}[,.:;]? \p{L}/u;

/** @returns where a sentence stands, by its text with `◌` for what is put in */
export function gatewaySentences(root: string): Map<string, string> {
  const api = new API({ cwd: root });
  try {
    const [opened] = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] }).getProjects();
    if (!opened) throw new Error('there is no project');
    const found = new Map<string, string>();
    for (const path of opened.program.getSourceFileNames()) {
      const name = relative(root, path);
      const file = opened.program.getSourceFile(path);
      if (!file || !SOURCES.test(name)) continue;
      look(file, MAKES_SENTENCES.test(name), (node, text) =>
        found.set(text, `${name}:${lineAt(file.text, node.end)}`),
      );
    }
    return found;
  } finally {
    api.close();
  }
}

function look(node: Node, isTold: boolean, report: (node: Node, text: string) => void): void {
  if (is.isImportDeclaration(node) || is.isExportDeclaration(node) || is.isTypeNode(node)) return;
  const text = textOf(node);
  if (isTold && text !== undefined && PROSE.test(text)) report(node, text);
  node.forEachChild((child) => look(child, isToldIn(node, child, isTold), report));
}

function isToldIn(node: Node, child: Node, isTold: boolean): boolean {
  if (!is.isCallExpression(node) && !is.isNewExpression(node)) return isTold;
  if (child === node.expression) return isTold;
  const callee = `${is.isNewExpression(node) ? 'new ' : ''}${node.expression.getText()}`;
  return TELLS.test(callee) || (isTold && !TELLS_OTHERS.test(callee));
}

/** With `◌` for what is put in. */
function textOf(node: Node): string | undefined {
  if (is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!is.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('◌');
}
