// Package chart computes the geometry of the console's charts: columns over time, the bar of a limit, the timeline of a task.
// A template writes it as SVG. Coordinates are of a view box that is stretched to the page, so charts contain no text.
package chart
