// Package cache reads and keeps answers about asynchronous tasks, and the claims that say whose task is whose.
//
// It is for three questions: which team made this task ([Claims]), what was last heard of it ([ReadAnswer]), and what
// the service's list of tasks would show its owner ([Claims.List]). It is not a general cache, never asks the service
// anything itself, and knows neither teams' limits nor HTTP.
//
// It promises that a claim is visible from the moment Put returns, that a task is shown to nobody but the team that
// made it, and that its memory ends with the life of the tasks it was told of.
package cache
