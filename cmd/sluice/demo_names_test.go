package main

import "sluice/cmd/sluice/demo"

// Requests of the demonstration, and the service's paths, as the tests of this package call them.
const (
	demoText    = demo.Text
	demoStream  = demo.Stream
	demoPicture = demo.Picture
	demoEdit    = demo.Edit

	textPath       = demo.TextPath
	multimodalPath = demo.MultimodalPath
	imagePath      = demo.ImagePath
)
