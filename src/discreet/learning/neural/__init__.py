"""Neural networks by noisy gradients of clipped length."""
