// Package cache reads and keeps answers about asynchronous tasks, and the claims that say which team a task belongs to.
//
// It answers three questions: which team made this task, what was last heard of it, and what would the service's list of
// tasks show its owner. It has two forms: in memory ([Claims], [Queries], [Outcomes]) and in Redis ([Redis]). It is not a
// general cache, never queries the service itself, and knows neither limits nor HTTP.
//
// It promises that a claim is visible once Put returns, that a task is shown only to the team that made it, and that it
// forgets a task when the service does.
package cache
