//! raddle
