"""The pages of a report and of a comparison.

write       a report as a folder or as one file, a pair as one file; whole or not at all
render      templates, scripts and styles put together; JSON that is safe inside HTML
templates/  what is read without JavaScript: the frame, the summary, the measures of a pair
assets/     own styles and scripts, no framework: dom, text, pane, differ, pair, compare | data, parts, list,
            download, pairs, charts, summary, histogram, tables, graph, matrix, cluster, sources, verdicts, people,
            routes. The service's page has dom, text and the style common as well
"""
