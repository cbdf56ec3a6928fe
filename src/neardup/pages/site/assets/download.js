// A list as a file that the reader saves: CSV, or a workbook for spreadsheets. Made in the page; nothing is fetched.
//
// Both are what `neardup.outputs` writes: CSV by RFC 4180; .xlsx with inline strings, of which one that looks like the
// beginning of a formula is marked as text. A list of this page is read by people with spreadsheets and by no program
// of ours, so in CSV too such a text begins with an apostrophe: any document may be named "=…".
(function (n) {
  "use strict";

  const FORMULA = /^[=+\-@\t\r]/;
  const MOST_CHARACTERS = 32_767; // of a cell of a spreadsheet
  const MOST_ROWS = 1_048_576; // of a sheet, the names among them
  const BATCH = 5000; // rows that are one string at a time
  const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
  const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
  const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const [NAME, NO_FORMULA, FRACTION] = [1, 2, 3]; // styles of cells, by their places in STYLES
  const STYLES = `${HEAD}<styleSheet xmlns="${MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="0.0000"/></numFmts>` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf xfId="0"/>' +
    '<xf fontId="1" applyFont="1" xfId="0"/><xf quotePrefix="1" xfId="0"/><xf numFmtId="164" applyNumberFormat="1" xfId="0"/></cellXfs>' +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>';

  const encoder = new TextEncoder();

  // Rows of values, the names first, some at a time.
  function* batches({ columns, rows }, cell, around) {
    let held = [around(columns.map(([name]) => cell(name, true)))];
    for (const i of rows) {
      held.push(around(columns.map(([, value]) => cell(value(i), false))));
      if (held.length < BATCH) continue;
      yield held.join("");
      held = [];
    }
    yield held.join("");
  }

  function csvCell(value) {
    if (typeof value === "number") return String(value);
    const text = FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(list) {
    return [...batches(list, csvCell, (cells) => `${cells.join(",")}\r\n`)].map((part) => encoder.encode(part));
  }

  // What XML cannot hold, or would change, is written as spreadsheets write it.
  const UNSAFE = /[\0-\x08\x0b\x0c\x0e-\x1f\r\ufffe\uffff\ud800-\udfff]|_(?=x[0-9A-Fa-f]{4}_)/gu;
  const XML = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

  function xlsxCell(value, isName) {
    if (typeof value === "number") return Number.isInteger(value) ? `<c><v>${value}</v></c>` : `<c s="${FRACTION}"><v>${value}</v></c>`;
    const text = value.slice(0, MOST_CHARACTERS);
    const style = isName ? ` s="${NAME}"` : /^[=+\-@']/.test(text) ? ` s="${NO_FORMULA}"` : "";
    const safe = text.replace(UNSAFE, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`)
      .replace(/[&<>]/g, (char) => XML[char]);
    return `<c t="inlineStr"${style}><is><t xml:space="preserve">${safe}</t></is></c>`;
  }

  function xlsx(list) {
    const kept = { ...list, rows: list.rows.slice(0, MOST_ROWS - 1) };
    const frozen = '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>';
    const last = `${String.fromCharCode(64 + list.columns.length)}${kept.rows.length + 1}`;
    const sheet = [`${HEAD}<worksheet xmlns="${MAIN}">${frozen}<sheetData>`, ...batches(kept, xlsxCell, (cells) => `<row>${cells.join("")}</row>`),
      `</sheetData><autoFilter ref="A1:${last}"/></worksheet>`];
    const relation = (number, kind, target) => `<Relationship Id="rId${number}" Type="${OFFICE}/${kind}" Target="${target}"/>`;
    const override = (part, kind) => `<Override PartName="/xl/${part}" ContentType="${KIND}.${kind}+xml"/>`;
    return zipped([
      ["[Content_Types].xml", [`${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        `<Default Extension="xml" ContentType="application/xml"/>${override("workbook.xml", "sheet.main")}${override("styles.xml", "styles")}${override("worksheets/sheet1.xml", "worksheet")}</Types>`]],
      ["_rels/.rels", [`${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation(1, "officeDocument", "xl/workbook.xml")}</Relationships>`]],
      ["xl/workbook.xml", [`${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${list.name}" sheetId="1" r:id="rId1"/></sheets></workbook>`]],
      ["xl/_rels/workbook.xml.rels", [`${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${relation(1, "worksheet", "worksheets/sheet1.xml")}${relation(2, "styles", "styles.xml")}</Relationships>`]],
      ["xl/styles.xml", [STYLES]],
      ["xl/worksheets/sheet1.xml", sheet],
    ]);
  }

  let table = null; // of CRC-32, as ZIP has it (APPNOTE 6.3.10, 4.4.7)

  function crc(parts) {
    table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
      for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
      return byte >>> 0;
    });
    let value = 0xffffffff;
    for (const part of parts) for (let i = 0; i < part.length; i++) value = table[(value ^ part[i]) & 255] ^ (value >>> 8);
    return (value ^ 0xffffffff) >>> 0;
  }

  // Files as they are, not compressed, in a ZIP archive: the parts of one blob.
  function zipped(files) {
    const [made, listed] = [[], []];
    let at = 0;
    for (const [name, texts] of files) {
      const path = encoder.encode(name);
      const parts = texts.map((text) => encoder.encode(text));
      const size = parts.reduce((sum, part) => sum + part.length, 0);
      // version 2.0, names in UTF-8, stored, the first of January 1980
      const about = [[2, 20], [2, 0x800], [2, 0], [2, 0], [2, 0x21], [4, crc(parts)], [4, size], [4, size], [2, path.length], [2, 0]];
      const local = packed([[4, 0x04034b50], ...about]);
      made.push(local, path, ...parts);
      listed.push(packed([[4, 0x02014b50], [2, 20], ...about, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), path);
      at += local.length + path.length + size;
    }
    const length = listed.reduce((sum, part) => sum + part.length, 0);
    return [...made, ...listed, packed([[4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, length], [4, at], [2, 0]])];
  }

  // Whole numbers of 2 or 4 bytes, the lowest byte first.
  function packed(numbers) {
    const view = new DataView(new ArrayBuffer(numbers.reduce((sum, [bytes]) => sum + bytes, 0)));
    let at = 0;
    for (const [bytes, value] of numbers) {
      if (bytes === 2) view.setUint16(at, value, true);
      else view.setUint32(at, value, true);
      at += bytes;
    }
    return new Uint8Array(view.buffer);
  }

  const KINDS = { csv: [csv, "text/csv"], xlsx: [xlsx, `${KIND}.sheet`] };

  // list: {name, columns: [[header, (row) => text or number]], rows: what columns are asked with}
  function download(kind, list) {
    const [make, type] = KINDS[kind];
    const url = URL.createObjectURL(new Blob(make(list), { type }));
    const link = n.make("a", { href: url, download: `${list.name}.${kind}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  Object.assign(n, { download });
})(window.neardup);
