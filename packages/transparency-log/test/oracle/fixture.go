package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type fixture struct {
	Leaves      string             `json:"leaves"`
	Roots       map[string]string  `json:"roots"`
	Inclusion   []inclusionProof   `json:"inclusion"`
	Consistency []consistencyProof `json:"consistency"`
	Notes       []signedNote       `json:"notes"`
}

type inclusionProof struct {
	Size  int64       `json:"size"`
	Index int64       `json:"index"`
	Proof []tlog.Hash `json:"proof"`
}

type consistencyProof struct {
	OldSize int64       `json:"oldSize"`
	Size    int64       `json:"size"`
	Proof   []tlog.Hash `json:"proof"`
}

type signedNote struct {
	Keys []string `json:"keys"`
	Note string   `json:"note"`
}

// memory is a tlog.HashReader of every stored hash.
type memory []tlog.Hash

func (m memory) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = m[index]
	}
	return hashes, nil
}

var fixtureSizes = []int64{1, 2, 3, 5, 8, 100, 255, 256, 257, 1000, 65537, 70000}

func makeFixture() (*fixture, error) {
	stored := memory{}
	for n := range fixtureSizes[len(fixtureSizes)-1] {
		hashes, err := tlog.StoredHashes(n, fmt.Appendf(nil, "record %d", n), stored)
		if err != nil {
			return nil, err
		}
		stored = append(stored, hashes...)
	}
	made := &fixture{Leaves: "record <index>", Roots: map[string]string{}}
	for position, size := range fixtureSizes {
		root, err := tlog.TreeHash(size, stored)
		if err != nil {
			return nil, err
		}
		made.Roots[fmt.Sprint(size)] = root.String()
		if err := made.addProofs(position, stored); err != nil {
			return nil, err
		}
	}
	return made, made.addNotes(stored)
}

func (f *fixture) addProofs(position int, stored memory) error {
	size := fixtureSizes[position]
	for _, index := range []int64{0, size / 3, size / 2, size - 1} {
		proof, err := tlog.ProveRecord(size, index, stored)
		if err != nil {
			return err
		}
		f.Inclusion = append(f.Inclusion, inclusionProof{Size: size, Index: index, Proof: proof})
	}
	for _, oldSize := range fixtureSizes[:position] {
		proof, err := tlog.ProveTree(size, oldSize, stored)
		if err != nil {
			return err
		}
		f.Consistency = append(f.Consistency, consistencyProof{OldSize: oldSize, Size: size, Proof: proof})
	}
	return nil
}

func (f *fixture) addNotes(stored memory) error {
	const origin = "log.example/audit/0"
	logSigner, logKey, err := newLogSigner(origin, 1)
	if err != nil {
		return err
	}
	unknown, _, err := newLogSigner("unknown.example", 2)
	if err != nil {
		return err
	}
	private := keyFromSeed(3)
	observer := &witness{
		name: "witness.example", private: private, public: private.Public().(ed25519.PublicKey), time: 1790000000,
	}
	for _, size := range []int64{1, 256, 70000} {
		root, err := tlog.TreeHash(size, stored)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s\n%d\n%s\n", origin, size, root)
		signed, err := note.Sign(&note.Note{Text: text}, logSigner)
		if err != nil {
			return err
		}
		f.Notes = append(f.Notes, signedNote{Keys: []string{logKey}, Note: string(signed)})
		all, err := note.Sign(&note.Note{Text: text}, unknown, logSigner, observer)
		if err != nil {
			return err
		}
		f.Notes = append(f.Notes, signedNote{Keys: []string{logKey, observer.vkey()}, Note: string(all)})
	}
	return nil
}

func newLogSigner(name string, seed byte) (note.Signer, string, error) {
	private := keyFromSeed(seed)
	vkey, err := note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, "", err
	}
	material := append([]byte{typeSignature}, private.Public().(ed25519.PublicKey)...)
	secret := base64.StdEncoding.EncodeToString(append([]byte{typeSignature}, private.Seed()...))
	signer, err := note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, keyID(name, material), secret))
	return signer, vkey, err
}

// keyFromSeed makes the same key in every run, so that the fixture does not change.
func keyFromSeed(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}
