// Judges what a model answered by the calls in `calls.json`: those that it must not make, since
// they failed, and those of which it is to make one, since they went well.
//
// This file is the same in every evaluation. A call is an object with a name and arguments,
// wherever it stands in the answer: as text, or as a provider hands it over.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const known = JSON.parse(fs.readFileSync(path.join(__dirname, 'calls.json'), 'utf8'));

module.exports = (output) => {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
  if (text.trim() === '' || text === '""') {
    return verdict(false, 'nothing was answered');
  }
  const made = [];
  for (const value of typeof output === 'string' ? objects(text) : [output]) {
    collect(value, made);
  }
  const isMade = (call) => made.some((other) => isSame(other, call));
  if (known.must_not.some(isMade)) {
    return verdict(false, 'it makes a call that failed, again');
  }
  if (known.must.length > 0 && !known.must.some(isMade)) {
    return verdict(false, 'it makes none of the calls that went well');
  }
  return verdict(true, `${made.length} calls, and none that is known to fail`);
};

function verdict(pass, reason) {
  return { pass, score: pass ? 1 : 0, reason };
}

// The JSON objects that stand in a text.
function* objects(text) {
  let at = text.indexOf('{');
  while (at !== -1) {
    const end = closing(text, at);
    const value = end === -1 ? undefined : parsed(text.slice(at, end));
    if (value !== undefined) {
      yield value;
    }
    at = text.indexOf('{', value === undefined ? at + 1 : end);
  }
}

// Behind the brace that closes the one at `at`.
function closing(text, at) {
  let depth = 0;
  let isQuoted = false;
  for (let i = at; i < text.length; i += 1) {
    const c = text[i];
    if (isQuoted) {
      if (c === '\\') {
        i += 1;
      } else if (c === '"') {
        isQuoted = false;
      }
    } else if (c === '"') {
      isQuoted = true;
    } else if (c === '{') {
      depth += 1;
    } else if (c === '}') {
      depth -= 1;
      if (depth === 0) {
        return i + 1;
      }
    }
  }
  return -1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The calls in a value.
function collect(value, made) {
  if (Array.isArray(value)) {
    value.forEach((item) => collect(item, made));
  } else if (value !== null && typeof value === 'object') {
    const tool = value.tool ?? value.name;
    const given = value.arguments ?? value.input ?? value.args;
    if (typeof tool === 'string' && given !== undefined) {
      const args = typeof given === 'string' ? (parsed(given) ?? given) : given;
      made.push({ tool, arguments: args });
    }
    Object.values(value).forEach((item) => collect(item, made));
  }
}

function isSame(one, two) {
  if (one === null || two === null || typeof one !== 'object' || typeof two !== 'object') {
    return one === two;
  }
  const names = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(two) &&
    names.length === Object.keys(two).length &&
    names.every((name) => Object.hasOwn(two, name) && isSame(one[name], two[name]))
  );
}
