"""The pages of a report and of a comparison.

write       a report as a folder or as one file, a pair as one file; whole or not at all
render      templates, scripts and styles put together; JSON that is safe inside HTML
templates/  what is read without JavaScript: the frame, the summary, the measures of a pair
assets/     own styles and scripts, no framework; colours and marks are in common.css. Which page has which is in
            ``pages.assets`` and ``render``. Two texts side by side, on every page that shows some: dom, text, pane,
            together, differ, sides. The page of a pair: template, passages, pair, compare. The report: data, parts,
            list, download, pairs, charts, summary, histogram, tables, graph, matrix, cluster, sources, verdicts,
            people, routes; both it and the page of repeated passages: repeats, losses
"""
