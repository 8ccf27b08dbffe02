package simulator

import "testing"

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want size
		ok   bool
	}{
		{"1280*720", size{1280, 720}, true},
		{"1*1", size{1, 1}, true},
		{"99999*1", size{99999, 1}, true},
		{"100000*1", size{}, false},
		{"0*720", size{}, false},
		{"0720*720", size{}, false},
		{"-1*720", size{}, false},
		{"+1*720", size{}, false},
		{"1280x720", size{}, false},
		{"1280*", size{}, false},
		{"*720", size{}, false},
		{"1280", size{}, false},
		{"1280*720*3", size{}, false},
		{" 1280*720", size{}, false},
		{"1e3*720", size{}, false},
		{"１２８０*720", size{}, false},
		{"", size{}, false},
	} {
		got, ok := parseSize(tt.text)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseSize(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
		if ok && got.String() != tt.text {
			t.Errorf("%q comes back as %q", tt.text, got)
		}
	}
}

func TestSizeArea(t *testing.T) {
	for _, tt := range []struct {
		from   size
		pixels int
		want   size
	}{
		{size{1, 1}, mediumArea, size{1280, 1280}},
		{size{500, 500}, largeArea, size{2048, 2048}},
		{size{1600, 400}, mediumArea, size{2560, 640}},
		{size{300, 1200}, mediumArea, size{640, 2560}},
	} {
		if got := tt.from.area(tt.pixels, 16); got != tt.want {
			t.Errorf("%v at %d pixels is %v, want %v", tt.from, tt.pixels, got, tt.want)
		}
	}
}

func TestSizeFit(t *testing.T) {
	const least, most = 4 * 28 * 28, 1280 * 28 * 28
	for _, tt := range []struct {
		name              string
		from              size
		least, most, step int
		want              size
	}{
		{"within", size{560, 280}, least, most, 28, size{560, 280}},
		{"rounded", size{570, 290}, least, most, 28, size{560, 280}},
		{"too small", size{10, 10}, least, most, 28, size{56, 56}},
		{"too large", size{4000, 4000}, least, most, 28, size{1008, 1008}},
		{"never nothing", size{4000, 1}, 1, 8000, 28, size{4004, 28}},
	} {
		if got := tt.from.fit(tt.least, tt.most, tt.step); got != tt.want {
			t.Errorf("%s: %v fits as %v, want %v", tt.name, tt.from, got, tt.want)
		}
	}
}
