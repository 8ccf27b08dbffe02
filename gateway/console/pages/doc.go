// Package pages renders the console's pages: Now, Teams, Tasks, Requests, Money, Rules, Audit and Config.
//
// It shows what others keep, through the interfaces in deps.go, and keeps no figures. Every page is whole without a script; a
// script makes times local and replaces the live part of a page with what the server sends. No page has inline code
// or inline styles. What a page shows of a team is limited by the [access.Person] of the request.
//
// Charts are drawn here as SVG rather than by a script: they are there without one, scale to any screen, follow the colours of
// light and dark, and each has a list of the same figures below it.
package pages
